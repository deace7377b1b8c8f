import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../lib/errors.ts';
import { RUNTIMES } from './runtime-program.ts';
import type { RuntimeProgram } from './runtime-program.ts';

const run = promisify(execFile);

/** The python runtime, in the `python3` of the machine. */
export const pythonProgram: RuntimeProgram = {
  command: 'python3',
  args: ['-m', 'kgrid_runtime'],
  variables: ({ callSeconds, result, body, memory }, cache, sourceBuilds) => ({
    PYTHONPATH: join(RUNTIMES, 'python'),
    PYTHONUNBUFFERED: '1',
    KGRID_PYTHON_ENV_PORT: '0',
    KGRID_PYTHON_CACHE_DIR: cache,
    KGRID_PYTHON_ALLOW_SOURCE_BUILDS: sourceBuilds.join(','),
    KGRID_PYTHON_EXECUTION_TIMEOUT: String(callSeconds),
    // Bytes.
    KGRID_PYTHON_OUTPUT_LIMIT: String(result),
    KGRID_PYTHON_BODY_LIMIT: String(body),
    KGRID_PYTHON_MEMORY_LIMIT: `${Math.max(512, memory)}M`,
  }),
  async absence(environment) {
    try {
      await run(
        'python3',
        ['-c', 'import sys; assert sys.version_info >= (3, 9), "Python is " + sys.version.split()[0]'],
        { env: environment },
      );
      return undefined;
    } catch (thrown) {
      const found =
        (thrown as NodeJS.ErrnoException).code === 'ENOENT'
          ? 'python3 is not installed'
          : `python3 cannot be used: ${messageOf(thrown).split('\n').at(-2) ?? ''}`;
      return `${found}; install Python 3.9 or newer (Debian: apt-get install python3 python3-venv python3-pip) and start again`;
    }
  },
};
