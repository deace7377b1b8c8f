/** How a sandbox process of this engine is started: Node with isolated-vm, and nothing that it may read but its program. */
import { existsSync, realpathSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programText } from '../supervisor/program-text.ts';
import type { Command } from '../supervisor/process.ts';
import { nodeFiles, SYSTEM } from '../../confinement/needed-files.ts';
import { sandboxFilter } from '../../confinement/seccomp.ts';
import type { LastWall } from '../../confinement/close-behind.js';
import type { Kernel, Walls } from '../../confinement/walls.ts';

const START = fileURLToPath(new URL('../supervisor/start.js', import.meta.url));
/** As the permission model sees them: without symbolic links. */
const ENGINES_FOLDER = realpathSync(fileURLToPath(new URL('..', import.meta.url)));
const CONFINEMENT_FOLDER = realpathSync(fileURLToPath(new URL('../../confinement', import.meta.url)));
const NODE_MODULES = realpathSync(fileURLToPath(new URL('../', import.meta.resolve('isolated-vm'))));
const OWN_FILES = [ENGINES_FOLDER, CONFINEMENT_FOLDER, join(ENGINES_FOLDER, '../../package.json'), NODE_MODULES];
/** … and as modules are found where they are linked, such as a `node_modules` that several working copies share. */
const LINKED = [
  fileURLToPath(new URL('..', import.meta.url)),
  fileURLToPath(new URL('../../confinement', import.meta.url)),
  ...foldersAbove(START)
    .map((folder) => join(folder, 'node_modules'))
    .filter((folder) => existsSync(folder)),
];

/** What a sandbox of this engine runs; kept where Node keeps compiled code, which is trusted as much. */
export const sandboxProgram = (): string => programText(import.meta.resolve('./sandbox/main.ts'), getCompileCacheDir());

export const sandboxCommand = (program: string, kernel: Kernel): Command => ({
  program: process.execPath,
  args: [
    // isolated-vm needs it; the rest is a second line of defence: no files but its own program, no child processes, no threads.
    '--no-node-snapshot',
    '--no-warnings',
    // That of the system is not among its files.
    '--openssl-config=/dev/null',
    '--permission',
    '--allow-addons',
    ...[ENGINES_FOLDER, CONFINEMENT_FOLDER, NODE_MODULES, ...LINKED, '/etc/alpine-release'].map(
      (path) => `--allow-fs-read=${path}`,
    ),
    START,
  ],
  env: {},
  input: `{"modules":${program},"lastWall":${JSON.stringify(lastWallOf(kernel))}}`,
  walls: walls(kernel),
});

const lastWallOf = ({ koffi, seccomp }: Kernel): LastWall | null =>
  koffi === undefined ? null : { koffi, ...(seccomp && { filter: sandboxFilter() }) };

function walls({ koffi }: Kernel): Walls {
  const { read, execute } = nodeFiles();
  return {
    read: [...read, ...SYSTEM, ...OWN_FILES, ...(koffi === undefined ? [] : [koffi])],
    execute,
    write: [],
    connect: [],
    calls: 'sandbox',
    processes: false,
  };
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}
