/** Files that programs need beside their own: of the system, and of Node. */
import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const OF_ITSELF = [
  ...['auxv', 'cgroup', 'cmdline', 'comm', 'environ', 'fd', 'fdinfo', 'io', 'limits', 'maps', 'mountinfo', 'mounts'],
  ...['oom_score', 'oom_score_adj', 'schedstat', 'smaps', 'smaps_rollup', 'stat', 'statm', 'status'],
];

/** Read by the C library and most programs at their start. */
export const SYSTEM: readonly string[] = [
  '/etc/ld.so.cache',
  '/etc/ld.so.preload',
  '/etc/localtime',
  '/etc/timezone',
  '/etc/ssl/openssl.cnf',
  '/usr/lib/ssl',
  '/usr/share/zoneinfo',
  '/dev/null',
  '/dev/zero',
  '/dev/urandom',
  '/dev/random',
  // Its own alone: they are those of the process which lays the walls. Not all: `net` tells of the whole machine.
  ...OF_ITSELF.map((name) => `/proc/self/${name}`),
];

/** Folders of shared libraries. */
export const LIBRARIES: readonly string[] = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib'];

/** Languages, and what tells of the machine: processors and memory. */
export const MACHINE: readonly string[] = [
  '/usr/share/locale',
  '/usr/lib/locale',
  '/proc/cpuinfo',
  '/proc/meminfo',
  '/proc/stat',
  '/proc/loadavg',
  '/proc/uptime',
  '/proc/version',
  '/proc/sys/vm/overcommit_memory',
  '/sys/devices/system/cpu',
  '/sys/fs/cgroup',
];

/** What may be started by who may make processes. */
export const PROGRAMS: readonly string[] = [
  '/bin',
  '/usr/bin',
  '/usr/local/bin',
  '/usr/libexec',
  '/usr/lib/git-core',
  '/lib',
  '/lib64',
  '/usr/lib',
];

/** How names of hosts are resolved and certificates are checked, for what may use the network. Private keys lie beside certificates. */
export const NETWORK: readonly string[] = [
  '/etc/resolv.conf',
  '/run/systemd/resolve',
  '/etc/hosts',
  '/etc/host.conf',
  '/etc/nsswitch.conf',
  '/etc/gai.conf',
  '/etc/services',
  '/etc/protocols',
  ...['/etc/ssl/certs', '/etc/ssl/cert.pem', '/etc/ssl/ca-bundle.pem', '/etc/pki/ca-trust', '/etc/pki/trust'],
  ...['/etc/pki/tls/certs', '/etc/pki/tls/cert.pem', '/etc/pki/tls/openssl.cnf', '/etc/ca-certificates'],
  '/usr/share/ca-certificates',
  '/usr/local/share/ca-certificates',
];

/** Where Node looks for the kind of a module; it goes no further where one is there that it cannot read. */
export function packagesAbove(path: string): string[] {
  const folder = dirname(path);
  return [join(folder, 'package.json'), ...(folder === path ? [] : packagesAbove(folder))];
}

export interface ProgramFiles {
  /** The program, and what the kernel starts to load its libraries. */
  readonly execute: readonly string[];
  readonly read: readonly string[];
}

/** Those of the Node that runs this: what it has loaded itself. @throws Error where there is no `/proc`. */
export function nodeFiles(): ProgramFiles {
  const mapped = new Set<string>();
  for (const [, path = ''] of ownMaps().matchAll(MAPPED_FILE)) mapped.add(path);
  const files = [...mapped];
  return {
    execute: [realpathSync(process.execPath), ...files.filter(isLoader)],
    read: files.filter((file) => LIBRARY.test(file)),
  };
}

function ownMaps(): string {
  try {
    return readFileSync('/proc/self/maps', 'utf8');
  } catch (thrown) {
    throw new Error(NO_PROC, { cause: thrown });
  }
}

export const NO_PROC = 'the file system /proc is not there, without which processes cannot be confined: mount it';

const MAPPED_FILE = /^\S+ r\S+ \S+ \S+ [1-9]\d* +(\/.+)$/gm;
const LIBRARY = /\.so(?:\.[\d.]+)?$/;
const isLoader = (file: string): boolean => /^ld[-.]/.test(basename(file));
