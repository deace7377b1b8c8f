import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineLike } from './engines.ts';

const names: [string, string | undefined][] = [
  ['javasript', 'javascript'],
  ['nodejs', 'node'],
  ['nod', 'node'],
  ['pyton', 'python'],
  ['resources', 'resource'],
  // Engines of others, though short names differ from ours in few letters.
  ['js', undefined],
  ['r', undefined],
  ['go', undefined],
  ['ode', 'node'],
  ['one', undefined],
  ['julia', undefined],
];
for (const [name, meant] of names) {
  test(`the engine ${name} is ${meant === undefined ? 'one of others' : `a slip for ${meant}`}`, () =>
    assert.equal(engineLike(name), meant));
}
