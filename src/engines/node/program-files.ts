/**
 * The program of the workers, ready to run: a worker that strips its own types starts in 115 ms instead of 50,
 * so the types are stripped once, into the cache folder.
 */
import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { basename, extname, join } from 'node:path';
import { programText } from '../supervisor/program-text.ts';
import { codeOf } from '../supervisor/packages/errors.ts';

export interface ProgramFiles {
  /** The module to start. */
  readonly main: string;
  /** The folder that a worker must be able to read. */
  readonly folder: string;
}

const WORKER = new URL('../../../runtimes/node/worker/', import.meta.url);
/** The second is the program of a thread. */
const MAINS = ['main', 'watchdog'].map((name) => new URL(`${name}${extname(import.meta.url)}`, WORKER).href);
const imports = /from '(\.{1,2}\/[\w./-]+\.(?:ts|mjs))'/g;
const moduleName = (path: string): string => `${basename(path, extname(path))}.mjs`;

export async function prepareProgram(cacheDir: string): Promise<ProgramFiles> {
  const text = JSON.parse(programText(MAINS, getCompileCacheDir())) as readonly (readonly [
    url: string,
    code: string,
  ])[];
  const modules = text.map(([url, code]) => ({
    name: moduleName(url),
    // All lie in one folder then.
    code: code.replace(imports, (_, path: string) => `from './${moduleName(path)}'`),
  }));
  const digest = createHash('sha256').update(JSON.stringify(modules)).digest('hex').slice(0, 32);
  const folder = join(cacheDir, `program-${digest}`);
  const program = { main: join(folder, 'main.mjs'), folder };
  // Another process on this cache folder may put the same program there at the same time.
  for (let tries = 0; !(await isWhole(folder, modules)); tries++) {
    if (tries === mostTries)
      throw new Error('The program of the workers does not stay as it was put into the cache folder');
    await put(modules, folder, join(cacheDir, 'staging', `program-${process.pid}-${randomUUID()}`));
  }
  return program;
}

interface Module {
  readonly name: string;
  readonly code: string;
}

const mostTries = 5;

/** What lies there is moved away first, whatever it is: nobody has put it there who may. */
async function put(modules: readonly Module[], folder: string, staging: string): Promise<void> {
  try {
    await mkdir(join(staging, 'new'), { recursive: true });
    for (const { name, code } of modules) await writeFile(join(staging, 'new', name), code, { flush: true });
    await rename(folder, join(staging, 'old')).catch(unless('ENOENT'));
    await rename(join(staging, 'new'), folder).catch(unless('ENOTEMPTY', 'EEXIST', 'ENOTDIR'));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const unless =
  (...codes: string[]) =>
  (error: unknown): void => {
    if (!codes.includes(codeOf(error) ?? '')) throw error;
  };

/** Whether exactly these files are there, each with its own contents. */
async function isWhole(folder: string, modules: readonly Module[]): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  if (names.length !== modules.length) return false;
  const same = modules.map(async ({ name, code }) => {
    const file = join(folder, name);
    return (await lstat(file)).isFile() && (await readFile(file, 'utf8')) === code;
  });
  return (await Promise.all(same).catch(() => [false])).every(Boolean);
}
