/** The shelf of a start without settings: a working copy of `examples/`, so that trying things out changes nothing in it. */
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from './build.ts';

const ROOT = join(import.meta.dirname, '..');
const EXAMPLES = join(ROOT, 'examples');
/** An update of a package empties its folder, and another user may have installed it. */
const dataFolder = (): string => (isInstalled ? join(homedir(), '.local/share/kgrid-activator') : join(ROOT, '.data'));

export interface ExampleShelf {
  readonly folder: string;
  /** True when the examples changed since the copy was made. */
  readonly outdated: boolean;
}

/** Makes the copy where it is not there yet; keeps what was done to it otherwise. */
export async function exampleShelf(folder: string = join(dataFolder(), 'example-shelf')): Promise<ExampleShelf> {
  const mark = join(folder, '.copy-of');
  const digest = await digestOfFolder(EXAMPLES);
  const known = await readFile(mark, 'utf8').catch(() => undefined);
  if (known === undefined) {
    await mkdir(folder, { recursive: true });
    // What is there already was begun to be copied, or a person's work.
    await cp(EXAMPLES, folder, { recursive: true, force: false });
    await writeFile(mark, digest);
  }
  return { folder, outdated: known !== undefined && known !== digest };
}

async function digestOfFolder(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort()) hash.update(file.slice(folder.length)).update(await readFile(file));
  return hash.digest('hex');
}
