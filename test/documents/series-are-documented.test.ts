import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAMILIES } from '../../src/metrics/families.ts';
import type { Family } from '../../src/metrics/families.ts';
import { codesIn, tableOf } from './support/markdown.ts';
import { read } from './support/project.ts';

test('the table of series in docs/observability.md is that of the service', () => {
  const shown = tableOf(read('docs/observability.md'), 'Series').map((row) => ({
    name: codesIn(row['Series'] ?? '')[0],
    type: row['Type'],
    labels: codesIn(row['Labels'] ?? ''),
    help: row['Meaning'],
  }));
  const families: readonly Family[] = Object.values(FAMILIES);
  assert.deepEqual(
    shown,
    families.map(({ name, type, labels, help }) => ({ name, type, labels: [...labels], help })),
  );
});
