import { join } from 'node:path';
import { RUNTIMES } from './runtime-program.ts';
import type { RuntimeProgram } from './runtime-program.ts';

/** The node runtime, in the Node that runs the service. */
export const nodeProgram: RuntimeProgram = {
  command: process.execPath,
  args: [join(RUNTIMES, 'node/main.ts')],
  variables: ({ callSeconds, maxResult, maxBody }, cache) => ({
    KGRID_NODE_ENV_PORT: '0',
    KGRID_NODE_CACHE_DIR: cache,
    KGRID_NODE_EXECUTION_TIMEOUT: String(callSeconds),
    // Millions of bytes, both.
    KGRID_NODE_OUTPUT_LIMIT: String(Math.max(1024, maxResult) / 1e6),
    KGRID_NODE_BODY_LIMIT: String(Math.max(1, maxBody / 1e6)),
  }),
  absence: () => Promise.resolve(undefined),
};
