/** Where the programs of a PostgreSQL server are; Debian's packages are installed where they are missing. */
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { installed } from '../debian-program.ts';

/** The folder with `initdb` and `postgres`. */
export const postgresPrograms = (): string => installed(find, 'postgresql');

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
