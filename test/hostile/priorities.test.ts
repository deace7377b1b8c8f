/** How sandboxes stand among the processes of the machine. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { constants, getPriority, setPriority } from 'node:os';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { footprintOf } from './support/footprint.ts';

const LIMIT = 1500;
const service = await startService({ args: ['--execution-timeout', `${LIMIT}ms`] });
after(() => service[Symbol.asyncDispose]());

const naan = uniqueNaan();
const runaway = javascriptKo('function run() { while (true); }', { naan, name: 'runaway' });
const slow = javascriptKo('function run(n) { const end = Date.now() + 600; while (Date.now() < end); return n + 1; }', {
  naan,
  name: 'slow',
});
await service.serve(runaway, slow);

interface Place {
  readonly session: number;
  readonly nice: number;
  readonly policy: number;
}

/** See proc_pid_stat(5): fields 6, 19 and 41. */
async function placeOf(pid: number): Promise<Place> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = ['', '', '', ...text.slice(text.lastIndexOf(')') + 2).split(' ')].map(Number);
  const [session = NaN, nice = NaN, policy = NaN] = [6, 19, 41].map((field) => fields[field]);
  return { session, nice, policy };
}
const SCHED_IDLE = 5;

const sandboxes = async ({ pid } = service): Promise<Place[]> => {
  const { children } = await footprintOf(pid);
  return (await Promise.all(children.map((pid) => placeOf(pid).catch(() => [])))).flat();
};

test('code that ran into its limit gets the cores that nobody else wants', async () => {
  assert.equal((await service.post(pathOf(runaway), 1)).status, 500);
  const again = service.post(pathOf(runaway), 1);
  let behind: Place | undefined;
  for (const until = Date.now() + LIMIT; behind === undefined && Date.now() < until; await pause(20)) {
    behind = (await sandboxes()).find(({ policy, nice }) => policy === SCHED_IDLE && nice === 19);
  }
  assert.equal((await again).status, 500);
  assert.ok(behind !== undefined, 'no sandbox was behind all others');
});

test('sandboxes are of the session of the service, in which their priorities count', async () => {
  const { session } = await placeOf(service.pid);
  const all = await sandboxes();
  assert.ok(all.length >= 2);
  for (const sandbox of all) assert.equal(sandbox.session, session);
});

async function catchesSignals(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return [constants.signals.SIGINT, constants.signals.SIGTERM, constants.signals.SIGHUP].every(
    (signal) => (caught >> BigInt(signal - 1)) % 2n === 1n,
  );
}

test('a signal to all processes, such as Ctrl-C, leaves the sandboxes to finish their calls', async () => {
  // The process of its first call is given up after it; the second starts one that stays.
  for (let i = 0; i < 2; i++) assert.equal((await service.post(pathOf(slow), 1)).status, 200);
  const call = service.post(pathOf(slow), 1);
  await pause(100);
  // One that is only coming up has nothing to finish.
  const children: number[] = [];
  for (const pid of (await footprintOf(service.pid)).children) if (await catchesSignals(pid)) children.push(pid);
  assert.ok(children.length >= 2, `${children.length} sandboxes`);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) for (const pid of children) process.kill(pid, signal);
  const answer = await call;
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.object['result'], 2);
  const now = (await footprintOf(service.pid)).children;
  assert.ok(
    children.every((pid) => now.includes(pid)),
    'a sandbox has ended',
  );
});

test('where the service itself has a later place, slow code still comes after it', async () => {
  await using later = await startService({ args: ['--execution-timeout', `${LIMIT}ms`] });
  await later.serve(slow);
  const own = getPriority() + 3;
  setPriority(later.pid, own);
  const call = later.post(pathOf(slow), 1);
  let behind: Place | undefined;
  for (const until = Date.now() + LIMIT; behind === undefined && Date.now() < until; await pause(20)) {
    behind = (await sandboxes(later)).find(
      ({ policy, nice }) => policy !== SCHED_IDLE && nice === Math.min(19, own + 5),
    );
  }
  assert.equal((await call).status, 200);
  assert.ok(behind !== undefined, 'no sandbox was behind the service');
});
