/** A worker that was ended for its memory says so to the call in it and in the counts, whoever ended it. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { memoryKills, ChildProgram } from './process.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';
import type { NetworkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const STAY = `export const run = () => { console.log('begun'); while (true); };`;
/** Has no turn in which the service could look at its memory before V8 gives up. */
const FILL = `export const run = () => { const all = []; while (true) all.push(new Array(1000).fill({})); };`;

const lost = ({ pool }: NetworkedPool): unknown => pool.figures().restarts.filter(([, , count]) => count > 0);

for (const [what, kills, says, counted] of [
  ['the kernel, for want of memory', 1, /^The kernel ended the process .* since no memory was left$/, 'memory'],
  ['somebody else', 0, /ended unexpectedly \(SIGKILL\)$/, 'ended'],
] as const) {
  test(`a worker that is killed by ${what}`, async () => {
    let count = 0;
    const begun = Promise.withResolvers<void>();
    await using networked = await networkedPool({
      engine: 'node',
      onPrinted: () => begun.resolve(),
      startProcess: (command, events) => new ChildProgram(command, events, undefined, () => count),
    });
    const endpoint = await networked.define('a/b/1', STAY);
    const called = endpoint.call(null);
    await begun.promise;
    count += kills;
    process.kill(networked.pool.host('a/b/1', 'state').workers[0]?.process.pid ?? 0, 'SIGKILL');
    assert.match(String(await called), says);
    assert.deepEqual(lost(networked), [['worker', counted, 1]]);
  });
}

test('a worker whose heap is full', async () => {
  await using networked = await networkedPool({ engine: 'node' });
  assert.match(String(await networked.run('a/b/1', FILL)), /passed its memory limit of 128 MB$/);
  assert.deepEqual(lost(networked), [['worker', 'memory', 1]]);
});

test('what the kernel has ended is read from its own count', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-vmstat-test-'));
  await writeFile(join(folder, 'vmstat'), 'pgfault 7\noom_kill 3\noom_kill_other 9\n');
  assert.equal(memoryKills(join(folder, 'vmstat')), 3);
  assert.equal(memoryKills(join(folder, 'none')), 0);
  await rm(folder, { recursive: true });
});
