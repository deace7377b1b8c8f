import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareVersions } from './id.ts';

const version = fc.oneof(
  fc.stringMatching(/^[vV]?\d{1,4}(\.\d{1,4}){0,3}[a-z]{0,2}\d{0,2}$/),
  fc.stringMatching(/^[A-Za-z0-9.]{1,64}$/),
);

test('the order is total: reflexive only for equal texts, antisymmetric and transitive', () => {
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      assert.equal(compareVersions(a, b) === 0, a === b);
      assert.equal(compareVersions(a, b) + compareVersions(b, a), 0);
      if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0) assert.ok(compareVersions(a, c) <= 0);
    }),
    { numRuns: 2_000 },
  );
});

test('numbers are compared as numbers, of any length', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.bigInt({ min: 0n, max: 10n ** 40n }), (a, b) => {
      if (a === b) return;
      assert.equal(compareVersions(`v1.${String(a)}`, `v1.${String(b)}`), a < b ? -1 : 1);
    }),
  );
});

test('sorting gives the natural order', () => {
  const sorted = ['0.9', 'v1', '1.0', 'v1.0', 'v1.0.1', 'v1.9', '1.10', 'v2.0', 'v10.0', 'v10.0a', 'beta'];
  assert.deepEqual([...sorted].reverse().sort(compareVersions), sorted);
});
