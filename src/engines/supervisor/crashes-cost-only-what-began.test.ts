/** A worker that is killed in the middle of its work costs the calls that had begun in it, and no other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findKernel } from '../../confinement/find-kernel.ts';
import { NO_WALLS } from '../../confinement/walls.ts';
import { workerPolicy } from './worker-policy.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const KO = 'naan/crash/v1';
/** Stays, and lets nothing else of its process run; or says that it ran. */
const CODES = {
  node: `export const run = (input) => {
    console.log(input);
    while (input === 'stay');
    return input;
  };`,
  python: `import ctypes
def run(input):
    print(input)
    if input == "stay":
        ctypes.PyDLL(None).sleep(60)
    return input
`,
};
/** On a busy machine the worker would be left to the call that keeps it busy, before it is killed. */
const policy = { ...workerPolicy, blockedMs: 600_000 };
const QUICK = ['first', 'second', 'third', 'fourth'];

for (const engine of ['node', 'python'] as const) {
  for (const [what, kernel] of [
    ['behind walls', await findKernel('require')],
    ['without walls', NO_WALLS],
  ] as const) {
    test(`calls that had not begun run in a fresh process: ${engine} ${what}`, async () => {
      const lines: string[] = [];
      let onBegun = (): void => undefined;
      const begun = new Promise<void>((resolve) => (onBegun = resolve));
      await using networked = await networkedPool({
        ...{ engine, kernel, policy },
        onPrinted: (line) => {
          lines.push(line);
          if (line === 'stay') onBegun();
        },
      });
      const endpoint = await networked.define(KO, CODES[engine]);
      assert.equal(await endpoint.call('ready'), 'ready');
      const stays = endpoint.call('stay');
      const others = QUICK.map((each) => endpoint.call(each));
      await begun;
      const { pid = 0 } = networked.pool.host(KO, 'state').workers[0]?.process ?? {};
      process.kill(pid, 'SIGKILL');
      assert.match(String(await stays), /ended unexpectedly \(SIGKILL\)/);
      assert.deepEqual(await Promise.all(others), QUICK);
      assert.equal(new Set(lines).size, lines.length, 'a call ran twice');
      const { restarts } = networked.pool.figures();
      assert.deepEqual(
        restarts.filter(([, , count]) => count > 0),
        [['worker', 'ended', 1]],
      );
    });
  }
}
