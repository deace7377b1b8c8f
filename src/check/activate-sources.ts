/** Puts inspected knowledge objects on the shelf of a local activator. */
import { constants, copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Endpoint } from '../activation/endpoint.ts';
import { ENGINES } from './engines.ts';
import type { Progress } from './findings.ts';
import { entriesOf, type Inspection } from './inspect.ts';
import type { Environment, LocalActivator } from './local-activator.ts';
import type { FolderFile } from './package-files.ts';

export interface ActivateOptions {
  readonly env: Environment;
  readonly terminal: Progress;
  /** Which to start. */
  readonly runtimes: readonly string[];
  /** Whether what the code prints is shown. */
  readonly showConsole: boolean;
  /** Further options of the activator. */
  readonly settings?: readonly string[];
}

/** Starts it with all that can be imported, and waits until their endpoints are decided. */
export async function activateSources(
  inspections: readonly Inspection[],
  { env, terminal, runtimes, showConsole, settings = [] }: ActivateOptions,
): Promise<LocalActivator> {
  terminal.progress('starting an activator …');
  // All of the service, which most calls of the commands that may need it do without.
  const { LocalActivator } = await import('./local-activator.ts');
  const activator = await LocalActivator.start({
    env,
    runtimes,
    settings,
    port: 0,
    onConsole: (ko, text) => {
      if (showConsole) terminal.note(terminal.dim(`${ko} | ${text}`));
    },
    fill: async (shelf) => {
      for (const [i, { source, ko }] of inspections.entries()) {
        if (ko !== undefined) await new Mirror(join(shelf, String(i))).update(source.folder, source.files);
      }
    },
  });
  const awaited = (): readonly Endpoint[] =>
    activator.app.activator.set.endpoints.filter(
      ({ entry }) => ENGINES.get(entry.engine)?.builtIn !== false || runtimes.includes(entry.engine),
    );
  await activator.decided(awaited(), (text) => terminal.progress(text));
  // The functions of libraries are known only now.
  await activator.decided(awaited(), (text) => terminal.progress(text));
  terminal.progress('');
  return activator;
}

/** The runtimes that have to be started for these. */
export function runtimesFor(inspections: readonly Inspection[]): string[] {
  const engines = inspections.flatMap(({ services, ko }) => [
    ...services.flatMap(({ deployment }) => entriesOf(deployment)),
    ...(ko?.library === undefined ? [] : entriesOf(ko.library.service.deployment)),
  ]);
  const needed = engines.map(({ engine }) => engine).filter((name) => ENGINES.get(name)?.builtIn === false);
  return [...new Set(needed)];
}

// Copies of knowledge objects on a shelf, so that the author's own folder is only read.

/** Makes a folder hold these files, and copies only those that changed since. */
export class Mirror {
  readonly folder: string;
  /** By path, the stamp of what was copied. */
  #copied: ReadonlyMap<string, string> = new Map();

  constructor(folder: string) {
    this.folder = folder;
  }

  async update(from: string, files: ReadonlyMap<string, FolderFile>): Promise<void> {
    const copied = new Map<string, string>();
    for (const path of this.#copied.keys()) if (!files.has(path)) await rm(join(this.folder, path), { force: true });
    for (const { path, stamp } of files.values()) {
      if (this.#copied.get(path) !== stamp) {
        const target = join(this.folder, path);
        await mkdir(dirname(target), { recursive: true });
        await copyFile(join(from, path), target, constants.COPYFILE_FICLONE);
      }
      copied.set(path, stamp);
    }
    this.#copied = copied;
  }

  async remove(): Promise<void> {
    this.#copied = new Map();
    await rm(this.folder, { recursive: true, force: true });
  }
}
