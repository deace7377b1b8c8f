/**
 * Takes away what the code of a knowledge object could use against files and other processes, before any of it is
 * loaded. A second line of defence beside the permission model of Node, no isolation: see the README for what is promised.
 *
 * Functions are replaced on the one object that `require`, `import`, `process.getBuiltinModule` and
 * `module.createRequire` all give. `node:sqlite` and the flags of V8 are closed when the process starts: see
 * `workers/worker-process.ts`.
 */
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import os from 'node:os';
import v8 from 'node:v8';

/**
 * @param pipe whose handle leads to what all unix sockets and named pipes have in common.
 * @param addonsSetting what would let native addons be loaded; empty text where they may be.
 */
export function restrict(pipe: Socket, addonsSetting: string): void {
  const permission = process.permission as { drop?: (scope: string) => void } | undefined;
  // Threads were needed for the watchdog only, and a thread of its own would have the functions removed below.
  permission?.drop?.('worker');
  if (permission && addonsSetting !== '') {
    permission.drop?.('addon');
    refuseAddons(addonsSetting);
  }
  remove(process, ['kill', '_kill', '_debugProcess', '_debugEnd', 'execve', '_getActiveHandles', '_getActiveRequests']);
  process.argv.length = 1;
  process.execArgv.length = 0;
  if (!permission) return;
  // The permission model does not know of these: traces of V8 go to any file that a flag names, a unix socket that
  // listens is a file, and one that is connected leads to services of this machine.
  remove(v8, ['setFlagsFromString', 'setHeapSnapshotNearHeapLimit']);
  remove(os, ['setPriority']);
  remove(prototypeOfHandle(pipe), ['bind', 'bind2', 'connect', 'connect2', 'fchmod', 'listen']);
  syncBuiltinESMExports();
}

/** Files that were not loaded, each once: packages often hide why they do not work. */
const refused = new Set<string>();

/** Sentences for the operator. */
export const refusedAddons = (): readonly string[] => [...refused];

function refuseAddons(setting: string): void {
  const value = (_module: unknown, file: unknown): never => {
    const why = `${String(file)} is a native addon, which may not be loaded without ${setting}`;
    if (refused.size < MOST_REFUSED) refused.add(why);
    throw Object.assign(new Error(why), { code: 'ERR_DLOPEN_DISABLED' });
  };
  Object.defineProperty(process, 'dlopen', { value });
}

const MOST_REFUSED = 10;

function remove(from: object, names: readonly string[]): void {
  const refuse = (): never => {
    throw new Error('not available to knowledge objects');
  };
  for (const name of names) if (name in from) Object.defineProperty(from, name, { value: refuse });
}

/** Node gives no other way to what its `net`, `http` and `child_process` make unix sockets with. */
function prototypeOfHandle(pipe: Socket): object {
  const { _handle: handle } = pipe as unknown as { readonly _handle?: object };
  const prototype: unknown = handle && Object.getPrototypeOf(handle);
  if (typeof prototype !== 'object' || prototype === null || !('bind' in prototype))
    throw new Error('unix sockets cannot be closed to knowledge objects in this version of Node');
  return prototype;
}
