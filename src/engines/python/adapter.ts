import { INSTALL_LIMITS } from '../supervisor/packages/install-limits.ts';
import { forInstallers } from '../supervisor/adapter.ts';
import type { WorkerKit } from '../supervisor/adapter.ts';
import { findPython } from './find-python.ts';
import { PythonInstaller, withRequirements } from './installer.ts';
import { pythonWorkers } from './program.ts';

const LEAST_MEMORY_MB = 512;
/** Each has a thread. */
const CONCURRENCY = 16;

/** Workers of the engine `python`, in the `python3` of the machine. */
export const pythonKit: WorkerKit = {
  concurrency: CONCURRENCY,
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
      ...{ python, outputLimit, bodyLimit, environment, memoryMb, concurrency: CONCURRENCY },
    });
    return { program, installer, folders: [] };
  },
};
