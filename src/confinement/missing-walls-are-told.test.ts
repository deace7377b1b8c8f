/** What a machine without all of the walls says, and that of kernels that refuse: by a filter around the whole service. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import pino from 'pino';
import { ALLOW, refuseWith, writeFilter } from './bpf.ts';
import { findKernel, toKernel } from './find-kernel.ts';
import type { Found } from './find-kernel.ts';
import type { LaunchPolicy } from './launch.ts';
import { logWalls, reportWalls } from './report-walls.ts';
import { kernel, temporaryFolder } from '../../test/support/confinement/behind-walls.ts';
import { LAST_KNOWN, systemCalls } from './system-calls.ts';
import { NO_WALLS } from './walls.ts';
import type { Kernel, WallsMode } from './walls.ts';

const ROOT = new URL('../../', import.meta.url);
const LAUNCHER = fileURLToPath(new URL('./launcher.js', import.meta.url));
const [ENOSYS, EPERM, EOPNOTSUPP] = [38, 1, 95];

/** Runs a program of Node in a kernel that answers some system calls with an error. */
async function runWhereRefused(
  names: readonly string[],
  errno: number,
  args: readonly string[],
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const calls = systemCalls(process.arch);
  const rules = names.map((name) => ({ call: calls?.get(name) ?? -1, when: [], action: refuseWith(errno) }));
  const policy: LaunchPolicy = {
    koffi: kernel.koffi ?? '',
    parent: process.pid,
    limits: [],
    pipes: 0,
    filter: writeFilter({
      arch: process.arch,
      rules,
      otherwise: ALLOW,
      unknown: { from: LAST_KNOWN + 1, action: ALLOW },
    }),
    program: process.execPath,
    args,
    env: [`PATH=${process.env['PATH'] ?? ''}`],
  };
  const child = spawn(process.execPath, [LAUNCHER], {
    env: { KGRID_LAUNCH: JSON.stringify(policy) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

const LANDLOCK = ['landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self'];
const service = fileURLToPath(new URL('src/start.js', ROOT));

const ask = async (names: readonly string[], errno: number): Promise<Kernel> => {
  const { stdout, stderr } = await runWhereRefused(names, errno, [
    fileURLToPath(new URL('./ask-kernel.js', import.meta.url)),
  ]);
  assert.equal(stderr, '');
  return toKernel(JSON.parse(stdout) as Found);
};

test('a kernel tells what it lacks, and what to do', async () => {
  assert.deepEqual(kernel.missing, []);
  const old = await ask(LANDLOCK, ENOSYS);
  assert.deepEqual([old.landlock, old.seccomp, old.koffi !== undefined], [0, true, true]);
  assert.match(
    String(old.missing),
    /^no walls around files and signals: the kernel has no Landlock, which comes with Linux 5\.13, or a container/,
  );
  assert.match(
    String((await ask(LANDLOCK, EOPNOTSUPP)).missing),
    /Landlock is switched off: add landlock to the list lsm=/,
  );
  assert.match(
    String((await ask(LANDLOCK, EPERM)).missing),
    /the seccomp profile of a container: allow the system calls landlock_\*/,
  );
  // It may be asked, and not used.
  assert.equal((await ask(['landlock_restrict_self'], EPERM)).landlock, 0);
  const without = await ask(['seccomp'], ENOSYS);
  assert.deepEqual([without.landlock > 0, without.seccomp], [true, false]);
  assert.match(String(without.missing), /^no filter of system calls: the kernel has no seccomp/);
});

test('without both, or without koffi, processes start as they are', async () => {
  const neither = await ask([...LANDLOCK, 'seccomp'], ENOSYS);
  assert.deepEqual([neither.koffi, neither.missing.length], [undefined, 2]);
  const noKoffi = toKernel({ landlock: 0, seccomp: false, noKoffi: 'MODULE_NOT_FOUND' });
  assert.deepEqual({ ...noKoffi, missing: [] }, NO_WALLS);
  assert.match(
    String(noKoffi.missing),
    /the package koffi, .* cannot be loaded \(MODULE_NOT_FOUND\): install with npm ci/,
  );
  assert.deepEqual(await findKernel('off'), NO_WALLS);
});

test('an older Landlock is weaker, for who has the network or makes processes', () => {
  const weaker = [7, 5, 3].map((landlock) => toKernel({ landlock, seccomp: true, koffi: '/koffi.node' }).weaker.length);
  assert.deepEqual(weaker, [0, 1, 2]);
});

test('a service that requires walls does not start without them, and says what to do', async () => {
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await runWhereRefused(LANDLOCK, EPERM, [
    service,
    '--walls',
    'require',
    '--port',
    '0',
    '--shelf',
    folder.path,
  ]);
  assert.equal(code, 1, stdout);
  assert.match(
    stderr,
    /^--walls require: no walls around files and signals: something refuses Landlock, .* landlock_\*.* Or start with --walls auto/,
  );
});

test('health and info tell the mode and what is missing; the log says it once', () => {
  const tell = (mode: WallsMode, of: Kernel): unknown[] => {
    const lines: { level: number; msg: string }[] = [];
    const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as { level: number; msg: string }) });
    logWalls(mode, of, log);
    const { status, details } = reportWalls(mode, of);
    return [status, Object.keys(details).join(), ...lines.map(({ level, msg }) => `${level} ${msg.slice(0, 60)}`)];
  };
  assert.deepEqual(tell('auto', kernel), ['UP', 'mode,landlock,seccomp']);
  assert.deepEqual(tell('require', kernel), ['UP', 'mode,landlock,seccomp']);
  const old = toKernel({ landlock: 0, seccomp: true, koffi: '/koffi.node', noLandlock: 'ENOSYS' });
  assert.deepEqual(tell('auto', old), [
    'DOWN',
    'mode,landlock,seccomp,missing',
    '40 Code of knowledge objects runs without all walls of the kern',
  ]);
  const weak = toKernel({ landlock: 3, seccomp: true, koffi: '/koffi.node' });
  assert.deepEqual(tell('auto', weak), [
    'UP',
    'mode,landlock,seccomp,weaker',
    '30 Walls of the kernel are older: code that may use the network',
  ]);
  assert.deepEqual(tell('off', NO_WALLS), [
    'DOWN',
    'mode,landlock,seccomp',
    '40 Code of knowledge objects runs without walls of the kernel (',
  ]);
});
