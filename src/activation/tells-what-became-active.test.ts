import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo } from '../../test/acceptance/support/ko.ts';
import { decidedEndpointsOf, ManualEngine } from '../../test/support/in-memory.ts';
import { becameActive } from './became-active.ts';

test('what became active is told by place, in whatever order it was loaded', async () => {
  const kos = ['v2.0', 'v1.0', 'v3.0'].map((version) => javascriptKo('', { naan: 'a', version }));
  const made = (await Promise.all(kos.map((ko) => decidedEndpointsOf(ko, new ManualEngine())))).flat();
  assert.deepEqual(
    becameActive(made, []).map(({ ko }) => ko),
    ['a/ko/v1.0', 'a/ko/v2.0', 'a/ko/v3.0'],
  );
});
