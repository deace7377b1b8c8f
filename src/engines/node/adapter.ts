import { delimiter, dirname, join } from 'node:path';
import { forInstallers, forWorkers } from '../supervisor/adapter.ts';
import type { Adapter } from '../supervisor/adapter.ts';
import { NodeInstaller } from './installer.ts';
import { nodeWorkers, prepareProgram } from './program.ts';

/** Bytes that a text of V8, in which a body reaches the code, can have for sure. */
const MAX_STRING_CHARACTERS = 536e6;
const LEAST_MEMORY_MB = 256;
/** Those that wait cost a little memory each, and the more are on their way, the fewer writes they need. */
const CALLS_AT_ONCE = 64;
/** The `npm` that comes with the service's own Node goes first. */
const BIN = dirname(process.execPath);

/** Workers of the engine `node`, in the Node that runs the service. */
export const nodeAdapter: Adapter = {
  callsAtOnce: CALLS_AT_ONCE,
  leastMemoryMb: LEAST_MEMORY_MB,
  absence: () => Promise.resolve(undefined),
  async open(options) {
    const { cache, outputLimit, memoryMb, environment, installTimeout, sourceBuilds, network, kernel, onWarning } =
      options;
    const files = await prepareProgram(cache.folder);
    const installer = new NodeInstaller(
      cache,
      {
        installerEnvironment: {
          ...forInstallers(environment),
          PATH: [BIN, environment['PATH'] ?? ''].join(delimiter),
        },
        installTimeoutMs: installTimeout,
        allowInstallScripts: false,
        sourceBuilds,
        network,
        shared: options.shared,
        onFailure: onWarning,
        kernel,
      },
      join(cache.folder, 'npm'),
    );
    const program = nodeWorkers({
      files,
      memoryMb,
      outputLimit: Math.min(MAX_STRING_CHARACTERS, outputLimit),
      permissions: true,
      kernel,
      environment: forWorkers(environment),
    });
    return { program, installer, folders: [files.folder] };
  },
};
