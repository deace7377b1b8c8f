/** A process that ends before its program is there has run no code: its work waits, and is told why. */
import assert from 'node:assert/strict';
import { rename, rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { findKernel } from '../../confinement/find-kernel.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const kernel = await findKernel('require');
const KO = 'naan/start/v1';
const CODES = {
  node: 'export const run = (input) => input;',
  python: 'def run(input):\n    return input\n',
};
const NOT_LAID = /its walls cannot be laid: .*nonexistent.* \(--walls off/;

for (const engine of ['node', 'python'] as const) {
  test(`walls that cannot be laid are told as that, and what waits runs when they can: ${engine}`, async () => {
    // Replaced in the middle.
    const broken = { ...kernel, koffi: '/nonexistent' };
    const [lines, reasons]: [string[], string[]] = [[], []];
    await using networked = await networkedPool({
      ...{ engine, kernel: broken },
      onPrinted: (line) => lines.push(line),
      onEnded: (reason) => reasons.push(reason),
    });
    const endpoint = await networked.define(KO, CODES[engine]);
    const waits = endpoint.call('waits');
    assert.match(await endpoint.load(), NOT_LAID);
    assert.match(String(await endpoint.call('late', 100)), NOT_LAID);
    assert.match(networked.pool.problem ?? '', NOT_LAID);
    assert.deepEqual(lines, []);
    for (const reason of reasons) assert.match(reason, /^it could not be started: its walls cannot be laid/);
    Object.assign(broken, kernel);
    assert.equal(await waits, 'waits');
    assert.equal(networked.pool.problem, undefined);
  });
}

test('a worker for which no folder can be made is tried again', async () => {
  const reasons: string[] = [];
  await using networked = await networkedPool({ engine: 'node', onEnded: (reason) => reasons.push(reason) });
  const endpoint = await networked.define(KO, CODES.node);
  const { scratch } = networked;
  await rename(scratch, `${scratch}-away`);
  await writeFile(scratch, 'no folder');
  const waits = endpoint.call('waits');
  assert.match(String(await endpoint.call('late', 100)), /cannot be started: .*scratch/);
  await rm(scratch);
  await rename(`${scratch}-away`, scratch);
  assert.equal(await waits, 'waits');
  assert.match(reasons[0] ?? '', /^it could not be started: no scratch folder can be made/);
});
