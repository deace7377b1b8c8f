/** The users as whom the service is attacked: the one of the tests, and nobody where that is root. */
import { spawnSync } from 'node:child_process';
import { koffiPath } from './koffi.ts';
import { AS_NOBODY } from './target.ts';

export interface User {
  readonly who: string;
  /** Before a command; undefined for the user of the tests. */
  readonly as: readonly string[] | undefined;
}

/** Not where the project lies in a folder that is root's alone. */
function nobodyReachesTheProject(): boolean {
  const [command = '', ...args] = [
    ...AS_NOBODY,
    process.execPath,
    '-e',
    `process.dlopen({ exports: {} }, '${koffiPath}')`,
  ];
  return spawnSync(command, args, { cwd: '/' }).status === 0;
}

const ORDINARY: User = { who: 'as a user', as: undefined };
const ROOT: User = { who: 'as root', as: undefined };

function usersOf(): readonly User[] {
  if (process.getuid?.() !== 0) return [ORDINARY];
  return nobodyReachesTheProject() ? [ROOT, { ...ORDINARY, as: AS_NOBODY }] : [ROOT];
}

export const USERS = usersOf();
