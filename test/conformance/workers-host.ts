/** The managed workers of an engine, with limits small enough to be met. */
import pino from 'pino';
import { CallTokens } from '../../src/engines/call-token.ts';
import { RuntimeEngine } from '../../src/engines/external/runtime-engine.ts';
import { workerAdapter } from '../../src/engines/table.ts';
import { ManagedWorkers } from '../../src/engines/supervisor/managed-workers.ts';
import type { KnownLoads } from '../../src/engines/engine.ts';
import type { ManagedWorkersOptions } from '../../src/engines/supervisor/managed-workers.ts';
import type { Adapter } from '../../src/engines/supervisor/adapter.ts';
import type { EngineUnderTest } from './engine.ts';
import { temporaryFolder } from './temporary-folder.ts';

const MAX_RESULT_BYTES = 100_000;
/** Loading has it too, on a busy machine; what does not end has a limit of its own. */
const CALL_MILLISECONDS = 60_000;

/** What a test gives them: a folder that stays, what is known of code, and what the operator allowed. */
type Given = { readonly cache?: string; readonly known?: KnownLoads } & Partial<
  Pick<ManagedWorkersOptions, 'kernel' | 'sourceBuilds' | 'environment' | 'network' | 'addons'>
>;

/** Makes them, by that of the table where no adapter is given; none is started before code is to run. */
export async function managedWorkers(
  name: string,
  given: Given = {},
  made?: Adapter,
): Promise<EngineUnderTest & { readonly engine: RuntimeEngine }> {
  const folder = await temporaryFolder();
  const log = pino({ level: 'silent' });
  const limits = {
    callTimeout: CALL_MILLISECONDS,
    activationTimeout: 20_000,
    maxResult: MAX_RESULT_BYTES,
    queueLimit: 100,
  };
  const engine = new RuntimeEngine(name, {
    ...limits,
    tokens: new CallTokens(),
    stopped: new AbortController().signal,
    log,
  });
  const adapter = made ?? (await workerAdapter(name));
  if (adapter === undefined) throw new Error(`${name} has no managed workers`);
  engine.managed = new ManagedWorkers({
    ...{ ...limits, engine: name, adapter, version: '0.0.0', log },
    ...{ cache: folder.path, maxBody: 1e6, sourceBuilds: [], environment: process.env },
    ...given,
  });
  return {
    engine,
    maxResultBytes: MAX_RESULT_BYTES,
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
