/** A program of Debian that tests need; its package is installed where it is missing, which is said. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** @param find looks for it. @param debianPackage which brings it. @throws where it cannot be had. */
export function installed(find: () => string | undefined, debianPackage: string): string {
  const found = find();
  if (found !== undefined) return found;
  process.stderr.write(`${debianPackage} is not installed: installing it from the packages of the system\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', debianPackage]])
    spawnSync('apt-get', args, { stdio: ['ignore', 2, 2], env });
  const now = find();
  if (now !== undefined) return now;
  throw new Error(`These tests need ${debianPackage}: install it, as by apt-get install ${debianPackage}`);
}

/** Path of a program, also of one for administrators. */
export const debianProgram = (name: string, debianPackage = name): string =>
  installed(
    () =>
      [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
        .map((folder) => join(folder, name))
        .find((path) => existsSync(path)),
    debianPackage,
  );
