import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { explode } from './support/folders.ts';
import { pathOf } from './support/knowledge-grid.ts';
import type { Client } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { startService, temporaryFolder } from './support/service.ts';
import type { LogLine } from './support/service.ts';

/** Nothing that loads here takes as long. */
const PATIENT_LOADS = ['--execution-timeout', '5m'];
const busy = (ms: number): string =>
  `{ console.log("it runs"); const end = Date.now() + ${ms}; while (Date.now() < end); }`;

test('the service listens early and is ready when its endpoints are decided', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const slow = javascriptKo(`${busy(4000)} function run() { return 3; }`, { naan, name: 'slow' });
  const quick = welcomeKo({ naan, name: 'quick' });
  for (const ko of [slow, quick]) await explode(ko, folder.path, ko.name);
  await using service = await startService({ shelf: folder.path, early: true, args: PATIENT_LOADS });
  const readiness = await service.get('/actuator/health/readiness');
  assert.equal(readiness.status, 503);
  assert.deepEqual(readiness.json, { status: 'DOWN' });
  assert.deepEqual((await service.get('/actuator/health/liveness')).json, { status: 'UP' });
  const statusOf = async (): Promise<unknown[]> => (await service.get('/endpoints')).list.map(({ status }) => status);
  assert.ok((await statusOf()).includes('LOADED'));
  assert.equal((await service.post(pathOf(quick, 'welcome'), { name: 'Ada' })).status, 200);
  const waited = await service.post(pathOf(slow), {});
  assert.equal(waited.object['result'], 3, 'a call waits for the activation of its endpoint');
  await service.ready();
  assert.equal((await service.get('/actuator/health/readiness')).status, 200);
  assert.deepEqual(await statusOf(), ['ACTIVATED', 'ACTIVATED']);
});

test('a call to an endpoint that is not decided is moved to the front', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  for (let i = 0; i < 8; i++) {
    // Code that was seen to load is not tried again, so each has its own.
    const slow = javascriptKo(`${busy(700)} function run() { return ${i}; }`, { naan, name: `slow${i}` });
    await explode(slow, folder.path, slow.name);
  }
  const last = welcomeKo({ naan, name: 'zzz' });
  await explode(last, folder.path, last.name);
  await using service = await startService({ shelf: folder.path, early: true });
  assert.equal((await service.post(pathOf(last, 'welcome'), { name: 'Ada' })).status, 200);
  const readiness = await service.get('/actuator/health/readiness');
  assert.equal(readiness.status, 503, 'others are still waiting');
  const loaded = (await service.endpoints(naan)).filter((endpoint) => endpoint['status'] === 'LOADED');
  assert.ok(loaded.length > 0);
});

/** Loads for as long as it is not replaced. */
const endless = (naan: string): Ko => javascriptKo('while (true); function run() { return "old"; }', { naan });

async function replace(service: Client, shelf: string, ko: Ko): Promise<void> {
  await writeFile(join(shelf, ko.name, 'src/index.js'), 'function run() { return "new"; }');
  await service.reload(ko);
}

test('a call that waits for an activation is answered by what replaces it meanwhile', async () => {
  await using folder = await temporaryFolder();
  const ko = endless(uniqueNaan());
  await explode(ko, folder.path, ko.name);
  await using service = await startService({ shelf: folder.path, early: true, args: PATIENT_LOADS });
  const waiting = service.post(pathOf(ko), {});
  await replace(service, folder.path, ko);
  assert.equal((await waiting).object['result'], 'new', (await waiting).text);
});

test('when the shelf cannot be read health is DOWN and nothing else (S-HEALTH-DOWN)', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService({ shelf: `${folder.path}/shelf` });
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  await rename(`${folder.path}/shelf`, `${folder.path}/away`);
  const answer = await service.get('/actuator/health');
  assert.equal(answer.status, 503);
  assert.deepEqual(answer.json, { status: 'DOWN' });
  assert.equal((await service.post(pathOf(ko, 'welcome'), { name: 'Ada' })).status, 200, 'what is active goes on');
  await rename(`${folder.path}/away`, `${folder.path}/shelf`);
  assert.equal((await service.get('/actuator/health')).object['status'], 'UP');
});

const isRunning = ({ msg }: LogLine): boolean => msg === 'it runs';

test('SIGTERM lets running calls finish and ends with 0', async () => {
  await using service = await startService();
  const ko = javascriptKo(`function run() { ${busy(1000)} return "finished"; }`, { naan: uniqueNaan() });
  await service.serve(ko);
  const running = service.post(pathOf(ko), {});
  await service.logged(isRunning);
  const stopped = service.stop();
  const answer = await running;
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.object['result'], 'finished');
  assert.deepEqual(await stopped, { code: 0, signal: null });
});

test('while running calls finish, health tells new connections of the stop and nothing else is begun', async () => {
  await using service = await startService();
  const ko = javascriptKo(`function run() { ${busy(1500)} return "finished"; }`, { naan: uniqueNaan() });
  const quick = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko, quick);
  const running = service.post(pathOf(ko), {});
  await service.logged(isRunning);
  const stopped = service.stop();
  await service.logged((line) => line['event'] === 'stopping');
  for (const path of ['/actuator/health', '/actuator/health/readiness']) {
    const answer = await service.get(path);
    assert.deepEqual([answer.status, answer.json], [503, { status: 'DOWN' }], path);
  }
  const refused = await service.post(pathOf(quick, 'welcome'), { name: 'Ada' });
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'], refused.text);
  assert.match(String(refused.object['Detail']), /is stopping/);
  assert.equal((await running).object['result'], 'finished');
  assert.deepEqual(await stopped, { code: 0, signal: null });
});

/** A service that would wait for calls much longer than anything here takes. */
const PATIENT = ['--shutdown-grace', '10m', '--execution-timeout', '10m'];
const WELL_BEFORE_MS = 60_000;

test('SIGTERM with an idle service ends it at once, a spinning call does not hold it', async () => {
  {
    await using idle = await startService({ args: PATIENT });
    const before = Date.now();
    assert.deepEqual(await idle.stop(), { code: 0, signal: null });
    assert.ok(Date.now() - before < WELL_BEFORE_MS);
  }
  await using service = await startService({ args: PATIENT });
  const ko = javascriptKo('function run() { console.log("it runs"); while (true); }', { naan: uniqueNaan() });
  await service.serve(ko);
  const lost = service.post(pathOf(ko), {}).catch(() => undefined);
  await service.logged(isRunning);
  const first = service.stop();
  await service.logged((line) => line['event'] === 'stopping-takes-time');
  const before = Date.now();
  process.kill(service.pid, 'SIGTERM');
  await first;
  assert.ok(Date.now() - before < WELL_BEFORE_MS, 'the second signal ends it at once');
  await lost;
});

test('a signal opens no debugger', async () => {
  await using service = await startService();
  for (let i = 0; i < 3; i++) process.kill(service.pid, 'SIGUSR1');
  assert.equal((await service.get('/actuator/health')).status, 200);
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
  assert.equal(service.stderr(), '');
});
