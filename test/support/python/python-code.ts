/** Code in real workers of Python, without a service. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKernel } from '../../../src/confinement/find-kernel.ts';
import type { WallsMode } from '../../../src/confinement/walls.ts';
import { uptime } from '../../../src/lib/time.ts';
import type { CallScope } from '../../../src/engines/engine.ts';
import type { CallFailure } from '../../../src/engines/supervisor/call-failure.ts';
import {
  HostedCode,
  type HostedEndpoint,
  type Progress,
  type WantedCode,
} from '../../../src/engines/supervisor/hosted-code.ts';
import { Cache } from '../../../src/engines/supervisor/packages/cache.ts';
import { ChildProgram } from '../../../src/engines/supervisor/process.ts';
import { KoPools } from '../../../src/engines/supervisor/ko-pools.ts';
import { findPython, pythonWorkers } from '../../../src/engines/python/program.ts';
import { PythonInstaller } from '../../../src/engines/python/installer.ts';

export interface PythonCode extends AsyncDisposable {
  /** The cache folder; `wheels` in it is the only index of packages. */
  readonly folder: string;
  /** What code printed, as `stdout: text`. */
  readonly printed: readonly string[];
  /** Why workers ended that were not meant to. */
  readonly ended: readonly string[];
  readonly pool: KoPools;
  readonly installer: PythonInstaller;
  /** An endpoint of a knowledge object of its own, with the function `main` in `src/main.py`. */
  activate(
    files: Readonly<Record<string, string>>,
    more?: Partial<WantedCode>,
    progress?: Progress,
  ): Promise<HostedEndpoint>;
  call(endpoint: HostedEndpoint, input: unknown, limitMs?: number): Promise<unknown>;
}

const LIMIT_MS = 20_000;
const MB = 2 ** 20;
/** The environment of the service. */
const ENVIRONMENT = { OPENBLAS_CORETYPE: 'Haswell', OMP_NUM_THREADS: '1', KGRID_PASSWORD: 'secret' };
/** Any other endpoint answers with its input, but for `a/b/1.0/none`. */
const SCOPE: CallScope = {
  find: () => undefined,
  call: (id, { body }) =>
    id === 'a/b/1.0/none' ? Promise.reject(new Error(`there is no ${id}`)) : Promise.resolve(`{"was":${body}}`),
};

export async function pythonCode(walls: WallsMode): Promise<PythonCode> {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-python-workers-'));
  const python = await findPython({ PATH: process.env['PATH'] ?? '' });
  assert.ok(typeof python !== 'string', JSON.stringify(python));
  const kernel = await findKernel(walls);
  const cache = await Cache.open(folder);
  const installer = new PythonInstaller(cache, {
    ...{ python, kernel },
    environment: { PATH: process.env['PATH'] ?? '', PIP_NO_INDEX: '1', PIP_FIND_LINKS: join(folder, 'wheels') },
    ...{ sourceBuilds: [], limitSeconds: 60, limitBytes: 100 * MB },
    onWarning: () => undefined,
  });
  const printed: string[] = [];
  const ended: string[] = [];
  const pool = new KoPools({
    ...{ bodyLimit: MB, outputLimit: MB, concurrency: 8, queue: 100, loadLimitMs: LIMIT_MS },
    ...{ idleTimeoutMs: 60_000, idleWorkers: 4, scratch: join(folder, 'staging') },
    program: pythonWorkers({
      ...{ python, memoryMb: 128, outputLimit: MB, bodyLimit: MB, concurrency: 8, environment: ENVIRONMENT },
    }),
    startProcess: (command, events) => new ChildProgram(command, events, kernel),
    log: {
      printed: (_ko, stream, line) => printed.push(`${stream}: ${line}`),
      ended: (_ko, reason) => ended.push(reason),
    },
  });
  const code = new HostedCode({ cache, pool, installer });
  let last = 0;
  return {
    ...{ folder, printed, ended, pool, installer },
    activate: (files, more = {}, progress = () => undefined) => {
      const version = String(++last);
      const wanted: WantedCode = {
        ...{ uri: `test/python/${version}/run`, ko: `test/python/${version}`, checksum: version, variant: '' },
        ...{ artifacts: Object.keys(files), entry: 'src/main.py', function: 'main' },
        read: (path) => Promise.resolve(Buffer.from(files[path] ?? '')),
        ...more,
      };
      return code.activate(wanted, progress);
    },
    call: async ({ host, uri }, input, limitMs = LIMIT_MS) => {
      const text = await new Promise<string>((resolve, reject) => {
        host.submit(uri, {
          ...{ input: JSON.stringify(input), json: true, depth: 0, scope: SCOPE, deadline: uptime() + limitMs },
          ...{ resolve, reject },
        });
      });
      return JSON.parse(text) as unknown;
    },
    [Symbol.asyncDispose]: async () => {
      pool.kill();
      installer.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Why it failed. */
export async function failureOf(work: Promise<unknown>): Promise<CallFailure> {
  try {
    await work;
  } catch (thrown) {
    return thrown as CallFailure;
  }
  throw new assert.AssertionError({ message: 'it did not fail' });
}
