import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { temporaryFolder } from '../test/runtime.ts';
import { prepareWorkerProgram } from './program.ts';
import { WorkerProcess } from './worker-process.ts';

for (const signal of ['SIGKILL', 'SIGSEGV', 'SIGTERM'] as const) {
  test(`a worker that died by ${signal} is not usable`, async () => {
    const cacheDir = await temporaryFolder();
    const options = {
      program: await prepareWorkerProgram(cacheDir),
      memoryLimitMb: 64,
      outputLimit: 1000,
      bodyLimit: 1000,
      permissions: true,
      workerEnvironment: {},
    };
    const usable = await new Promise<boolean>((resolve) => {
      const worker = new WorkerProcess(new Set(), '/', options, {
        freed: () => undefined,
        nested: () => undefined,
        ended: (ended) => resolve(ended.usable),
        printed: () => undefined,
      });
      assert.equal(worker.usable, true);
      assert.ok(worker.pid);
      process.kill(worker.pid, signal);
    });
    await rm(cacheDir, { recursive: true });
    assert.equal(usable, false);
  });
}
