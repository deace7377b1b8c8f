import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realClock } from './clock.ts';
import { SandboxProcess } from './process.ts';
import { nodeWorkers } from '../node/program.ts';
import { NO_NETWORK } from '../network/access.ts';
import { prepareProgram } from '../node/program-files.ts';
import { workerPolicy } from './worker-policy.ts';
import { Worker } from './worker.ts';

for (const signal of ['SIGKILL', 'SIGSEGV', 'SIGTERM'] as const) {
  test(`a worker that died by ${signal} is not usable`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kgrid-worker-test-'));
    const program = nodeWorkers({
      ...{ files: await prepareProgram(folder), memoryMb: 64, outputLimit: 1000 },
      ...{ permissions: true, environment: {} },
    });
    const home = { ko: 'a/b/c', root: '/', folders: [], scratch: folder, network: NO_NETWORK, processes: false };
    const options = { program, bodyLimit: 1000, outputLimit: 1000, clock: realClock, policy: workerPolicy };
    const usable = await new Promise<boolean>((resolve) => {
      const start = (events: ConstructorParameters<typeof SandboxProcess>[1]): SandboxProcess =>
        new SandboxProcess(program.command(home), events);
      const worker = new Worker(start, new Set(), options, {
        freed: () => undefined,
        asked: () => undefined,
        spent: () => undefined,
        gaveBack: () => undefined,
        ended: (ended) => resolve(ended.usable),
        notStarted: (ended) => resolve(ended.usable),
        printed: () => undefined,
        clean: (text) => text,
      });
      assert.equal(worker.usable, true);
      assert.ok(worker.pid);
      process.kill(worker.pid, signal);
    });
    await rm(folder, { recursive: true });
    assert.equal(usable, false);
  });
}
