/** What differs between the engines that a runtime may have. */
import { join } from 'node:path';
import type { Installer } from '../../src/engines/supervisor/hosted-code.ts';
import { NodeInstaller } from '../../src/engines/node/installer.ts';
import { nodeWorkers, prepareProgram } from '../../src/engines/node/program.ts';
import { findPython, pythonWorkers } from '../../src/engines/python/program.ts';
import type { Cache } from '../../src/engines/supervisor/packages/cache.ts';
import { PythonInstaller } from '../../src/engines/python/installer.ts';
import { forWorkers } from '../../src/engines/supervisor/adapter.ts';
import type { WorkerProgram } from '../../src/engines/supervisor/adapter.ts';
import { NO_WALLS } from '../../src/confinement/walls.ts';
import type { EngineName, Settings } from './settings.ts';

export interface OpenEngine {
  readonly program: WorkerProgram;
  readonly installer: Installer;
  /** Folders of the cache that must stay. */
  readonly folders: readonly string[];
  /** Fetches packages ahead. */
  readonly fetchDependencies?: (wanted: Record<string, string>) => Promise<unknown>;
}

export interface RuntimeEngine {
  /** Its name in registrations. */
  readonly app: string;
  /** HTTP status of a call whose code threw: the protocol knows both. */
  readonly thrownStatus: 400 | 500;
  /** A file at the root of a knowledge object that need not be among its artifacts. */
  readonly besideArtifacts?: string;
  /** @throws Error with what to do where it cannot run here. */
  readonly open: (settings: Settings, cache: Cache, warn: (text: string) => void) => Promise<OpenEngine>;
}

export const RUNTIME_ENGINES: Readonly<Record<EngineName, RuntimeEngine>> = {
  node: {
    app: 'KGrid Node Runtime',
    thrownStatus: 400,
    async open(settings, cache) {
      const files = await prepareProgram(settings.cacheDir);
      const installer = new NodeInstaller(cache, settings, join(settings.cacheDir, 'npm'));
      const program = nodeWorkers({
        files,
        memoryMb: settings.memoryLimitMb,
        outputLimit: settings.outputLimit,
        permissions: settings.permissions,
        environment: forWorkers(settings.environment),
        addons: settings.allowAddons ? 'all' : 'none',
      });
      const fetchDependencies = (wanted: Record<string, string>): Promise<unknown> => installer.installs.fetch(wanted);
      return { program, installer, folders: [files.folder], fetchDependencies };
    },
  },
  python: {
    app: 'kgrid-python-runtime',
    thrownStatus: 500,
    besideArtifacts: 'requirements.txt',
    async open(settings, cache, warn) {
      const python = await findPython(settings.installerEnvironment);
      if (typeof python === 'string') throw new Error(python);
      const { memoryLimitMb: memoryMb, outputLimit, bodyLimit, concurrency, environment, sourceBuilds } = settings;
      const program = pythonWorkers({ python, memoryMb, outputLimit, bodyLimit, concurrency, environment });
      const installer = new PythonInstaller(cache, {
        python,
        sourceBuilds,
        kernel: NO_WALLS,
        environment: settings.installerEnvironment,
        limitSeconds: settings.installTimeoutMs / 1000,
        limitBytes: settings.installBytes,
        onWarning: warn,
      });
      return { program, installer, folders: [] };
    },
  },
};
