/** Knowledge objects in real workers that may reach something, without a service. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostPort } from '../../../src/lib/host-port.ts';
import { uptime } from '../../../src/lib/time.ts';
import type { CallScope } from '../../../src/engines/engine.ts';
import { Network } from '../../../src/engines/network/network.ts';
import type { NetworkPermission } from '../../../src/engines/network/permission.ts';
import type { Clock } from '../../../src/engines/supervisor/clock.ts';
import type { Command } from '../../../src/engines/supervisor/process.ts';
import type { Kernel } from '../../../src/confinement/walls.ts';
import { nodeWorkers, prepareProgram } from '../../../src/engines/node/program.ts';
import { findPython, pythonWorkers } from '../../../src/engines/python/program.ts';
import type { WorkerPolicy } from '../../../src/engines/supervisor/worker-policy.ts';
import { KoPools } from '../../../src/engines/supervisor/ko-pools.ts';
import type { PoolOptions } from '../../../src/engines/supervisor/ko-pools.ts';
import type { WorkerProgram } from '../../../src/engines/supervisor/adapter.ts';

export interface NetworkedPoolOptions {
  readonly engine: 'node' | 'python';
  readonly permissions?: Readonly<Record<string, NetworkPermission>>;
  /** Of the service. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly wanted?: readonly HostPort[];
  readonly kernel?: Kernel;
  readonly policy?: WorkerPolicy;
  readonly clock?: Clock;
  /** Changes how a worker is started. */
  readonly command?: (command: Command) => Command;
  readonly startProcess?: PoolOptions['startProcess'];
  readonly onPrinted?: (line: string) => void;
  readonly onEnded?: (reason: string) => void;
}

export interface DefinedEndpoint {
  /** Why it cannot be loaded; empty text where it can. */
  load(): Promise<string>;
  /** Its result, or the words of its failure. */
  call(input: unknown, limitMs?: number): Promise<unknown>;
}

export interface NetworkedPool extends AsyncDisposable {
  readonly pool: KoPools;
  /** Folder in which workers get theirs. */
  readonly scratch: string;
  /** What was logged of the network. */
  readonly warnings: string[];
  /** The function `run` of a module; `folders`: what it may read beside its own. */
  define(ko: string, code: string, folders?: readonly string[]): Promise<DefinedEndpoint>;
  /** Calls the function `run` of a module in a worker of that knowledge object: its result, or the words of its failure. */
  run(ko: string, code: string, input?: unknown): Promise<unknown>;
}

const SCOPE: CallScope = { find: () => undefined, call: () => Promise.reject(new Error('there is no other')) };
const MB = 2 ** 20;
const LIMIT_MS = 60_000;

async function programOf({ engine, kernel }: NetworkedPoolOptions, folder: string): Promise<WorkerProgram> {
  const limits = { memoryMb: 128, outputLimit: MB, environment: {} };
  if (engine === 'node')
    return nodeWorkers({
      ...{ ...limits, files: await prepareProgram(folder), permissions: true },
      ...(kernel && { kernel }),
    });
  const python = await findPython({ PATH: process.env['PATH'] ?? '' });
  assert.ok(typeof python !== 'string', JSON.stringify(python));
  return pythonWorkers({ ...limits, python, bodyLimit: MB, concurrency: 8 });
}

export async function networkedPool(options: NetworkedPoolOptions): Promise<NetworkedPool> {
  const { engine, permissions = {}, environment = {}, wanted, kernel, policy, clock, onPrinted, onEnded } = options;
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-network-test-'));
  const scratch = join(folder, 'scratch');
  await mkdir(scratch);
  const warnings: string[] = [];
  const network = new Network({
    permissions: new Map(Object.entries(permissions)),
    environment,
    isWalled: () => false,
    log: { warn: (_: unknown, message?: unknown) => void warnings.push(String(message)) },
  });
  const program = await programOf(options, folder);
  const { command = (same: Command): Command => same } = options;
  const pool = new KoPools({
    program: { ...program, command: (home) => command(program.command(home)) },
    ...(kernel && { kernel }),
    ...(policy && { policy }),
    ...(clock && { clock }),
    ...(options.startProcess && { startProcess: options.startProcess }),
    ...{ scratch, network, bodyLimit: MB, outputLimit: MB, concurrency: 8, queue: 100 },
    ...{ loadLimitMs: LIMIT_MS, idleTimeoutMs: LIMIT_MS, idleWorkers: 16 },
    log: {
      printed: (_ko, _stream, line) => onPrinted?.(line),
      ended: (_ko, reason) => onEnded?.(reason),
    },
  });
  let count = 0;
  const define = async (ko: string, code: string, folders: readonly string[] = []): Promise<DefinedEndpoint> => {
    const uri = `${ko}/e${String(++count)}`;
    const root = join(folder, 'code', ko);
    const file = join(root, `e${String(count)}.${engine === 'python' ? 'py' : 'mjs'}`);
    await mkdir(root, { recursive: true });
    await writeFile(file, code);
    const host = pool.host(ko, 'state');
    await host.openNetwork();
    const more = { entryFolder: '', installed: [], ownPackage: null };
    host.define({ uri, file, root, function: 'run', folders: [root, ...folders], network: wanted, more });
    return {
      load: () => host.load(uri),
      call: (input, limitMs = LIMIT_MS) =>
        new Promise((resolve) =>
          host.submit(uri, {
            ...{ input: JSON.stringify(input), depth: 0, scope: SCOPE, deadline: uptime() + limitMs, json: true },
            resolve: (text) => resolve(JSON.parse(text)),
            reject: ({ message }) => resolve(message),
          }),
        ),
    };
  };
  return {
    pool,
    scratch,
    warnings,
    define,
    run: async (ko, code, input = null) => (await define(ko, code)).call(input),
    [Symbol.asyncDispose]: async () => {
      pool.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
