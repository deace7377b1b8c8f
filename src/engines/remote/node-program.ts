import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import { RUNTIMES } from './runtime-program.ts';
import type { RuntimeProgram } from './runtime-program.ts';

/** Bytes that a text of V8, in which a body reaches the code, can have for sure. */
const MAX_STRING_CHARACTERS = 536e6;

/** The node runtime, in the Node that runs the service. */
export const nodeProgram: RuntimeProgram = {
  command: process.execPath,
  args: [join(RUNTIMES, 'node/main.ts')],
  variables: ({ callSeconds, result, body, memory }, cache) => ({
    KGRID_NODE_ENV_PORT: '0',
    KGRID_NODE_CACHE_DIR: cache,
    KGRID_NODE_EXECUTION_TIMEOUT: String(callSeconds),
    // Millions of bytes, both.
    KGRID_NODE_OUTPUT_LIMIT: String(Math.min(MAX_STRING_CHARACTERS, result) / 1e6),
    KGRID_NODE_BODY_LIMIT: String(Math.min(MAX_STRING_CHARACTERS, body) / 1e6),
    KGRID_NODE_MEMORY_LIMIT: String(Math.max(256, memory)),
    ...compiledBesideOurs(),
  }),
  absence: () => Promise.resolve(undefined),
};

/** It starts in half the processor time then. */
function compiledBesideOurs(): Record<string, string> {
  const folder = getCompileCacheDir();
  // The variable names the folder above the one for this version of Node and this user.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
