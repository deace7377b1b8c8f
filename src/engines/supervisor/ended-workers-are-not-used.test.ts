import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realClock } from './clock.ts';
import { ChildProgram } from './process.ts';
import { NO_NETWORK } from '../network/access.ts';
import { nodeWorkers, prepareProgram } from '../node/program.ts';
import { workerPolicy } from './worker-policy.ts';
import { policyFor } from './policy.ts';
import { Starts } from './starts.ts';
import { Worker } from './worker.ts';

const none = (): void => undefined;

for (const signal of ['SIGKILL', 'SIGSEGV', 'SIGTERM'] as const) {
  test(`a worker that died by ${signal} is not usable`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kgrid-worker-test-'));
    const program = nodeWorkers({
      ...{ files: await prepareProgram(folder), memoryMb: 64, outputLimit: 1000 },
      ...{ permissions: true, environment: {} },
    });
    const home = { ko: 'a/b/c', root: '/', folders: [], scratch: folder, network: NO_NETWORK, processes: false };
    const usable = await new Promise<boolean>((resolve) => {
      const worker = new Worker({
        start: (events) => new ChildProgram(program.command(home), events),
        ...{ clock: realClock, policy: policyFor(1), starts: new Starts(realClock) },
        beside: {
          ...{ callsAtOnce: 1, repliesBy: 'data', keepsThreads: false, maxFrameBytes: 10_000, figures: workerPolicy },
          ...{ printed: () => undefined, saysOutOfMemory: () => false },
        },
        events: {
          ...{ onReady: none, onLoaded: none, onDone: none, onRecordsDone: none, onRecords: none, onFailed: none },
          ...{ onAsk: none, onSpent: none, onFreed: none, onDrained: none },
          onExit: (ended) => resolve(ended.isUsable),
        },
      });
      assert.equal(worker.isUsable, true);
      assert.ok(worker.process.pid);
      process.kill(worker.process.pid, signal);
    });
    await rm(folder, { recursive: true });
    assert.equal(usable, false);
  });
}
