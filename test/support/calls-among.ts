/** Stands for the service between executors: calls them, and lets the code of one call the others by their ids. */
import type { Call, CallScope, CallTarget, Executor } from '../../src/engines/engine.ts';

/** Calls, and parses the result. @throws ServiceError. */
export type CallExecutor = (executor: Executor, input?: unknown, more?: Partial<Call>) => Promise<unknown>;

/** `active`: endpoints that the code of others may call, by id. */
export function callsAmong(active: ReadonlyMap<string, Executor>): CallExecutor {
  const scope: CallScope = {
    find: (id): CallTarget | undefined => {
      const executor = active.get(id);
      return executor && { ready: () => executor };
    },
    call: (id, call) => {
      const executor = active.get(id);
      if (executor === undefined) throw new Error(`${id} is not active`);
      return executor.execute({ ...call, scope });
    },
  };
  return async (executor, input = null, more = {}) => {
    const result = await executor.execute({
      body: JSON.stringify(input),
      contentType: 'application/json',
      json: true,
      deadline: Infinity,
      depth: 0,
      scope,
      ...more,
    });
    return JSON.parse(result) as unknown;
  };
}
