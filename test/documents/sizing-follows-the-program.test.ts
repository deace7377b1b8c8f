/** The rule for sizing in docs/operations.md has the figures that the program goes by. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthAllowed, policyFor } from '../../src/engines/supervisor/policy.ts';
import { nodeAdapter } from '../../src/engines/node/adapter.ts';
import { BESIDE_HEAP_MB } from '../../src/engines/node/program.ts';
import { pythonAdapter } from '../../src/engines/python/adapter.ts';
import { BESIDE_MEMORY_MB } from '../../src/engines/python/program.ts';
import { tableOf } from './support/markdown.ts';
import { read } from './support/project.ts';

const MB = 2 ** 20;
const table = new Map(
  tableOf(read('docs/operations.md'), 'Process').map((row) => [row['Process'], row['Memory of each, at most']]),
);

test('the processes of javascript may have what the table says', () => {
  assert.equal(table.get('for quick calls of `javascript`'), `${policyFor(2).processBytes / MB} MB`);
  const beside = growthAllowed(0) / MB;
  const times = growthAllowed(1) / MB - beside;
  assert.equal(table.get('for other calls of `javascript`'), `60 MB, ${beside} MB and ${times} × \`--isolate-memory\``);
});

test('workers may have what the table says', () => {
  const shown = (leastMb: number, besideMb: number): string => `\`--worker-memory\` (${leastMb} MB) and ${besideMb} MB`;
  assert.equal(table.get('`node`'), shown(nodeAdapter.leastMemoryMb, BESIDE_HEAP_MB));
  assert.equal(table.get('`python`'), shown(pythonAdapter.leastMemoryMb, BESIDE_MEMORY_MB));
});
