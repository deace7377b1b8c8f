// @ts-check
/**
 * Lays the walls on itself and becomes the program. What it is to do stands in its one variable, which no other user sees,
 * unlike arguments.
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { constants as system } from 'node:os';
import { openKernel } from './kernel-calls.js';

const O_PATH = 0o10000000;
const RIGHTS_OF_FILES = 0xc007;
/** Goes through folders and reads files of others; judged by Landlock all the same. */
const CAP_DAC_READ_SEARCH = 1n << 2n;
/** Standard input, output and error; its pipes follow. */
const STANDARD = 3;
const STANDARD_ERROR = 2;

/** @type {import('./launch.ts').LaunchPolicy} */
const policy = JSON.parse(process.env.KGRID_LAUNCH ?? '');
try {
  start();
} catch (thrown) {
  writeSync(STANDARD_ERROR, `Error: its walls cannot be laid: ${thrown instanceof Error ? thrown.message : thrown}\n`);
  // No exit: the event loop asks for more on its way than the filter may allow.
  process.kill(process.pid, 'SIGKILL');
}

function start() {
  const kernel = openKernel(policy.koffi);
  kernel.dieWithParent(system.signals.SIGKILL);
  // It may have ended before.
  if (process.ppid !== policy.parent) process.kill(process.pid, 'SIGKILL');
  dropCapabilities(kernel);
  kernel.gainNothing();
  kernel.passOn(STANDARD + policy.pipes);
  kernel.takeDefault(system.signals.SIGPIPE);
  kernel.takeDefault(system.signals.SIGXFSZ);
  const keys = [...randomNumbers()];
  const { domain, filter } = policy;
  if (domain !== undefined) kernel.enterDomain(domain, opened(domain.rules));
  // Not before: the rules are more files than a program may have.
  for (const [resource, most] of policy.limits) kernel.limit(resource, most);
  const [key0 = 0, key1 = 0, key2 = 0] = keys;
  if (filter !== undefined) kernel.filterCalls(filter, { pid: process.pid, key0, key1, key2 });
  kernel.become(policy.program, policy.args, policy.env, keys);
}

/** Three, from the kernel: to load the library for it would take a fifth of all the time here. */
function randomNumbers() {
  const numbers = new Uint32Array(3);
  const fd = openSync('/dev/urandom', 'r');
  if (readSync(fd, numbers) !== numbers.byteLength) throw new Error('/dev/urandom gives too little');
  closeSync(fd);
  return numbers;
}

/** @param {import('./landlock.ts').Domain['rules']} rules @returns {[number, number][]} */
function opened(rules) {
  return rules.flatMap(([path, rights]) => {
    try {
      const fd = openSync(path, O_PATH);
      return [[fd, fstatSync(fd).isDirectory() ? rights : rights & RIGHTS_OF_FILES]];
    } catch (thrown) {
      if (/** @type {NodeJS.ErrnoException} */ (thrown).code === 'EMFILE') throw thrown;
      return [];
    }
  });
}

/**
 * Gives up capabilities, also as root: files of root stay within reach, files of other users only where they admit everybody.
 * @param {import('./kernel-calls.js').KernelCalls} kernel
 */
function dropCapabilities(kernel) {
  const permitted = BigInt(`0x${/^CapPrm:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? 0}`);
  if (permitted === 0n) return;
  kernel.setCapabilities({ effective: 0n, permitted });
  const kept = isReadable() ? 0n : permitted & CAP_DAC_READ_SEARCH;
  kernel.setCapabilities({ effective: permitted, permitted });
  kernel.boundCapabilities(kept);
  kernel.setCapabilities({ effective: kept, permitted: kept });
}

function isReadable() {
  return [policy.program, ...(policy.domain?.rules.map(([path]) => path) ?? [])].every((path) => {
    try {
      closeSync(openSync(path, 'r'));
      return true;
    } catch (thrown) {
      return /** @type {NodeJS.ErrnoException} */ (thrown).code !== 'EACCES';
    }
  });
}
