import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { TestActivator } from './activator.ts';
import { gone, TestRuntime } from './runtime.ts';

const code = `
module.exports = async (how) => {
  console.log(how + ' has begun');
  if (how === 'spin') for (;;);
  if (how === 'slow') await new Promise((resolve) => setTimeout(resolve, 500));
  return process.pid;
};`;
const uri = 'super/vised/1.0/run';

/** @returns the process id of a worker that has answered a call. */
async function startWorker(runtime: TestRuntime): Promise<number> {
  await runtime.activate({ uri, files: { 'src/index.js': code } });
  const { body } = await runtime.post(uri, '"pid"');
  return Number(body['result']);
}

const begun = (runtime: TestRuntime, how: string): Promise<unknown> =>
  runtime.line(({ text }) => text === `${how} has begun`);

describe('the runtime as a child of the activator', () => {
  it('ends with its workers when the pipe on its standard input is closed', async () => {
    await using activator = await TestActivator.start();
    await using runtime = await TestRuntime.start(activator);
    const worker = await startWorker(runtime);
    const exit = once(runtime.child, 'exit');
    runtime.child.stdin?.end();
    assert.deepEqual(await exit, [0, null]);
    await gone(worker);
  });

  for (const state of ['idle', 'busy'] as const) {
    it(`leaves no ${state} worker behind when it is killed`, async () => {
      await using activator = await TestActivator.start();
      await using runtime = await TestRuntime.start(activator);
      const worker = await startWorker(runtime);
      if (state === 'busy') {
        runtime.post(uri, '"spin"').catch(() => undefined);
        await begun(runtime, 'spin');
      }
      runtime.child.kill('SIGKILL');
      await gone(worker);
    });
  }

  it('answers the calls that run before it stops', async () => {
    await using activator = await TestActivator.start();
    await using runtime = await TestRuntime.start(activator);
    const worker = await startWorker(runtime);
    const slow = runtime.post(uri, '"slow"');
    await begun(runtime, 'slow');
    const exit = once(runtime.child, 'exit');
    runtime.child.kill('SIGTERM');
    assert.equal((await slow).body['result'], worker);
    assert.deepEqual(await exit, [0, null]);
    await gone(worker);
  });
});

describe('the start', () => {
  it('is refused with one line that names the setting', async () => {
    await using activator = await TestActivator.start();
    await assert.rejects(TestRuntime.start(activator, { KGRID_NODE_MEMORY_LIMIT: 'much' }), /ended before it listened/);
  });
});
