/** Rights of Landlock, as its ABI on this machine knows them. */
import type { Walls } from './walls.ts';

const EXECUTE = 1 << 0;
const WRITE_FILE = 1 << 1;
const READ_FILE = 1 << 2;
const READ_DIR = 1 << 3;
const REMOVE_DIR = 1 << 4;
const REMOVE_FILE = 1 << 5;
const MAKE_CHAR = 1 << 6;
const MAKE_DIR = 1 << 7;
const MAKE_REG = 1 << 8;
const MAKE_SOCK = 1 << 9;
const MAKE_FIFO = 1 << 10;
const MAKE_BLOCK = 1 << 11;
const MAKE_SYM = 1 << 12;
/** Renames and links from one folder to another. */
const REFER = 1 << 13;
const TRUNCATE = 1 << 14;
const IOCTL_DEV = 1 << 15;

const BIND_TCP = 1 << 0;
const CONNECT_TCP = 1 << 1;

const ABSTRACT_UNIX_SOCKETS = 1 << 0;
const SIGNALS = 1 << 1;

/** All that a rule for something that is no folder may name. */
export const RIGHTS_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const READ = READ_FILE | READ_DIR;
// No sockets, and no devices, which nobody without capabilities makes.
const WRITE =
  READ | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_FIFO | MAKE_SYM | REFER;

const ALL_FILES = WRITE | EXECUTE | MAKE_CHAR | MAKE_SOCK | MAKE_BLOCK | IOCTL_DEV;

/** A domain as the launcher makes it. */
export interface Domain {
  /** What is refused but for the rules; what the ABI does not know is left out. */
  readonly files: number;
  readonly network: number;
  readonly scopes: number;
  readonly rules: readonly (readonly [path: string, rights: number])[];
  readonly ports: readonly number[];
}

/** @param abi undefined is answered for 0. */
export function domainOf(walls: Walls, abi: number): Domain | undefined {
  if (abi < 1) return undefined;
  const files = ALL_FILES & ~((abi < 2 ? REFER : 0) | (abi < 3 ? TRUNCATE : 0) | (abi < 5 ? IOCTL_DEV : 0));
  const rights = new Map<string, number>();
  const allow = (paths: readonly string[], what: number): void => {
    for (const path of paths) rights.set(path, ((rights.get(path) ?? 0) | what) & files);
  };
  allow(walls.read, READ);
  allow(walls.execute, READ | EXECUTE);
  allow(walls.write, WRITE);
  const network = abi < 4 ? 0 : walls.connect === 'any' ? BIND_TCP : BIND_TCP | CONNECT_TCP;
  return {
    files,
    network,
    scopes: abi < 6 ? 0 : ABSTRACT_UNIX_SOCKETS | SIGNALS,
    rules: [...rights],
    ports: network & CONNECT_TCP && walls.connect !== 'any' ? walls.connect : [],
  };
}
