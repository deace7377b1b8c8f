/** Where the programs of a PostgreSQL server are; Debian's packages are installed where they are missing. */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';

/** The folder with `initdb` and `postgres`. */
export function postgresPrograms(): string {
  const found = find();
  if (found !== undefined) return found;
  process.stderr.write('PostgreSQL is not installed: installing it from the packages of the system\n');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', 'postgresql']])
    spawnSync('apt-get', args, { stdio: ['ignore', 2, 2], env });
  const installed = find();
  if (installed === undefined)
    throw new Error(
      'The tests of the PostgreSQL shelf need a server: install postgresql, as by apt-get install postgresql',
    );
  return installed;
}

/** The newest; those of a person who names a folder come first. */
function find(): string | undefined {
  const named = process.env['TEST_POSTGRES'];
  const folders = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => versionIn(b) - versionIn(a));
  const inPath = (process.env['PATH'] ?? '').split(':');
  return [...(named === undefined ? [] : [named]), ...folders, ...inPath].find(
    (folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')),
  );
}

const versionIn = (path: string): number => Number(/postgresql\/(\d+)/.exec(path)?.[1] ?? 0);
