import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from './bundle.ts';
import { saysNumber } from './says-number.ts';

test('a place has `type: number` where one of the schemas that hold for it says so', () => {
  const root: JsonSchema = {
    $ref: '#/$defs/d0',
    $defs: {
      d0: {
        properties: { self: { $ref: '#/$defs/d0' }, n: { type: 'number' }, i: { type: 'integer' }, any: {} },
        patternProperties: { '^p_': { type: ['null', 'number'] } },
        additionalProperties: {
          prefixItems: [{ type: 'integer' }],
          items: { oneOf: [{ type: 'string' }, { allOf: [{ type: 'number' }] }] },
        },
      },
    },
  };
  const places: [path: (string | number)[], says: boolean][] = [
    [['n'], true],
    [['self', 'self', 'n'], true],
    [['p_1'], true],
    [['list', 1], true],
    [['list', 0], false],
    [['i'], false],
    [['any'], false],
    [['any', 'n'], false],
    [['n', 'n'], false],
    [[], false],
  ];
  for (const [path, says] of places) assert.equal(saysNumber(root, path), says, path.join('/'));
  assert.equal(saysNumber({ type: 'number' }, []), true);
  assert.equal(saysNumber(true, ['a']), false);
});
