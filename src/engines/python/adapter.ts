import { INSTALL_LIMITS } from '../supervisor/packages/install-runs.ts';
import { findPython, pythonWorkers } from './program.ts';
import { forInstallers } from '../supervisor/adapter.ts';
import type { Adapter } from '../supervisor/adapter.ts';
import { PythonInstaller, withRequirements } from './installer.ts';

const LEAST_MEMORY_MB = 512;
/** Each has a thread. */
const CALLS_AT_ONCE = 16;

/** Workers of the engine `python`, in the `python3` of the machine. */
export const pythonAdapter: Adapter = {
  callsAtOnce: CALLS_AT_ONCE,
  leastMemoryMb: LEAST_MEMORY_MB,
  async absence(environment) {
    const found = await findPython(forInstallers(environment));
    return typeof found === 'string' ? found : undefined;
  },
  artifactsOf: ({ artifacts, files }) => withRequirements(artifacts, files),
  async open(options) {
    const { cache, kernel, outputLimit, bodyLimit, memoryMb, environment, sourceBuilds, network } = options;
    const python = await findPython(forInstallers(environment));
    if (typeof python === 'string') throw new Error(python);
    const installer = new PythonInstaller(cache, {
      ...{ python, kernel, sourceBuilds, network },
      environment: forInstallers(environment),
      limitSeconds: options.installTimeout / 1000,
      limitBytes: INSTALL_LIMITS.bytes,
      onWarning: options.onWarning,
      shared: options.shared,
    });
    const program = pythonWorkers({
      ...{ python, outputLimit, bodyLimit, environment, memoryMb, concurrency: CALLS_AT_ONCE },
    });
    return { program, installer, folders: [] };
  },
};
