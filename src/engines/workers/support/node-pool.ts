/** Knowledge objects in real workers of Node, without a service. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Network } from '../../network/network.ts';
import type { NetworkPermission } from '../../network/permission.ts';
import type { CallScope } from '../../engine.ts';
import type { HostPort } from '../../../lib/host-port.ts';
import { nodeWorkers } from '../node/node-program.ts';
import { prepareProgram } from '../node/program-files.ts';
import { WorkerPool } from '../worker-pool.ts';

export interface NodePoolOptions {
  readonly permissions?: Readonly<Record<string, NetworkPermission>>;
  /** Of the service. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly isWalled?: boolean;
  readonly wanted?: readonly HostPort[];
}

export interface NodePool extends AsyncDisposable {
  readonly pool: WorkerPool;
  /** What was logged of the network. */
  readonly warnings: string[];
  /** Calls `code`, a function of the input, in a worker of that knowledge object; its result or the message of its failure. */
  run(ko: string, code: string, input?: unknown): Promise<unknown>;
}

const SCOPE: CallScope = { find: () => undefined, call: () => Promise.reject(new Error('there is no other')) };

export async function nodePool({
  permissions = {},
  environment = {},
  isWalled = false,
  wanted,
}: NodePoolOptions): Promise<NodePool> {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-network-test-'));
  const warnings: string[] = [];
  const network = new Network({
    permissions: new Map(Object.entries(permissions)),
    environment,
    isWalled: () => isWalled,
    log: { warn: (_: unknown, message?: unknown) => void warnings.push(String(message)) },
  });
  const pool = new WorkerPool({
    program: nodeWorkers({
      ...{ files: await prepareProgram(folder), memoryMb: 128, outputLimit: 1_000_000 },
      ...{ permissions: true, environment: {} },
    }),
    ...{ scratch: folder, network, bodyLimit: 1_000_000, outputLimit: 1_000_000, concurrency: 16, queue: 100 },
    ...{ loadLimitMs: 60_000, idleTimeoutMs: 60_000, idleWorkers: 16 },
    log: { printed: () => undefined, ended: () => undefined },
  });
  let count = 0;
  return {
    pool,
    warnings,
    run: async (ko, code, input = null) => {
      const uri = `${ko}/e${String(++count)}`;
      const root = join(folder, uri);
      const file = join(root, 'index.mjs');
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `export default ${code}`);
      const host = pool.host(ko, 'state');
      await host.openNetwork();
      host.define({ uri, file, root, function: 'default', folders: [root], network: wanted });
      return new Promise((resolve) =>
        host.submit(uri, {
          ...{ input: JSON.stringify(input), depth: 0, scope: SCOPE, deadline: performance.now() + 60_000, json: true },
          resolve: (text) => resolve(JSON.parse(text)),
          reject: ({ message }) => resolve(message),
        }),
      );
    },
    [Symbol.asyncDispose]: async () => {
      pool.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
