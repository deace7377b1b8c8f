/** What happens in the service is told to those who follow it, and costs nothing where nobody does. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openEvents } from './support/event-stream.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, zipOf } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { startService } from './support/service.ts';

const naan = uniqueNaan();
const LOGIN = 'ann:secret';
const env = { KGRID_USER: 'ann', KGRID_PASSWORD: 'secret' };
const args = ['--allow-private-manifests'];
const service = await startService({ profile: 'secure', env, args, credentials: LOGIN });
after(() => service[Symbol.asyncDispose]());
const ko = (name: string) => javascriptKo('function run(input) { return input; }', { naan, name });
const open = (query = '') => openEvents(service.url, query, LOGIN);
const ofSubject =
  (subject: string, action: string) =>
  ({ type, record }: Record<string, unknown>): boolean => {
    const { subject: about, action: what } = (record ?? {}) as Record<string, unknown>;
    return type === 'audit' && about === subject && what === action;
  };

test('whoever listens is told at once how the service is, and of each change of the shelf and of what is active', async () => {
  using events = await open();
  const { answer } = events;
  assert.deepEqual(
    [
      answer.statusCode,
      answer.headers['content-type'],
      answer.headers['x-accel-buffering'],
      answer.headers['cache-control'],
    ],
    [200, 'application/x-ndjson; charset=utf-8', 'no', 'no-store'],
  );
  const { catalogue, time, ...first } = await events.seen(({ type }) => type === 'state');
  const endpoints = { activated: 0, failed: 0, loading: 0 };
  assert.deepEqual(first, {
    ...{ type: 'state', status: 'UP', perSecond: 0, failedPerSecond: 0, p95: null, endpoints, kos: 0 },
  });
  assert.ok(Date.now() - Date.parse(String(time)) < 600_000);
  const one = ko('one');
  await service.add(one);
  const added = await events.seen(({ kos }) => kos === 1);
  assert.notEqual(added['catalogue'], catalogue);
  await service.reload(one);
  const active = await events.seen(({ endpoints: counts }) => (counts as typeof endpoints)?.activated === 1);
  assert.notEqual(active['catalogue'], added['catalogue']);
  const { record } = await events.seen(ofSubject(one.id, 'import'));
  const { who, login, outcome } = record as Record<string, unknown>;
  assert.deepEqual([who, login, outcome], ['ann', 'basic', 'done']);
  await events.seen(ofSubject(one.id, 'reload'));
  assert.equal((await service.post(pathOf(one), 1)).status, 200);
  const busy = await events.seen(({ perSecond }) => Number(perSecond) > 0);
  assert.equal(busy['catalogue'], active['catalogue'], 'calls change nothing of what is there');
});

test('who comes back is told what was missed, each record once and in its order', async () => {
  const { id } = (await service.get('/actuator/audit?limit=1')).list[0] ?? {};
  const [first, second, third] = [ko('first'), ko('second'), ko('third')];
  await service.add(first, second);
  using events = await open(`?after=${String(id)}`);
  using fresh = await open();
  await service.add(third);
  await events.seen(ofSubject(third.id, 'import'));
  const told = (all: typeof events): unknown[] =>
    all.events.flatMap(({ type, record }) =>
      type === 'audit' ? [(record as Record<string, unknown>)['subject']] : [],
    );
  assert.deepEqual(told(events), [first.id, second.id, third.id]);
  await fresh.seen(ofSubject(third.id, 'import'));
  assert.deepEqual(told(fresh), [third.id]);
});

test('without a login nobody listens, and a wrong question says what is wrong with it', async () => {
  for (const credentials of [undefined, 'ann:wrong']) {
    using refused = await openEvents(service.url, '', credentials);
    assert.equal(refused.answer.statusCode, 401);
  }
  for (const query of ['?after=x', '?after=0', '?after=1&after=2']) {
    const { status, object } = await service.get(`/actuator/events${query}`);
    assert.equal(status, 400, query);
    assert.match(String(object['Detail']), /^after /);
  }
});

test('an import by manifest tells how far it is, by the id of its request', async () => {
  await using web = await servePlaces({ '/good.zip': await zipOf(ko('bymanifest').files) });
  using events = await open();
  await events.seen(({ type }) => type === 'state');
  const places = [`${web.url}/good.zip`, `${web.url.replace('//', '//me:sesame@')}/none.zip`];
  const headers = { 'x-request-id': 'my-import', 'content-type': 'application/json' };
  assert.equal((await service.post('/kos/manifest', places, headers)).status, 200);
  await events.seen(({ done, total }) => done === 2 && total === 2);
  const all = events.events.filter(({ type }) => type === 'import');
  assert.doesNotMatch(JSON.stringify(all), /sesame/);
  assert.deepEqual(
    all.map(({ requestId, done, total }) => [requestId, done, total]),
    [
      ['my-import', 1, 2],
      ['my-import', 2, 2],
    ],
  );
  const [good, bad] = [all.find(({ ko: added }) => added !== undefined), all.find(({ error }) => error !== undefined)];
  assert.deepEqual([good?.['location'], good?.['ko']], [places[0], `${naan}/bymanifest/v1.0`]);
  assert.match(String(bad?.['location']), /none\.zip$/);
});

test('settings that differ from their defaults are told, with nothing secret', async () => {
  const { list, text, headers } = await service.get('/actuator/settings');
  assert.equal(headers['cache-control'], 'no-store');
  const byOption = new Map(list.map((each) => [each['option'], each]));
  assert.deepEqual(byOption.get('password'), { option: 'password', value: '(set)', default: null, group: 'Access' });
  assert.equal(byOption.get('user')?.['value'], 'ann');
  assert.ok(!byOption.has('drain') && byOption.has('shelf'));
  assert.doesNotMatch(text, /"secret"/);
});

test('of three hundred who want to listen two hundred do, and their places are free when they go', async () => {
  const all = await Promise.all(Array.from({ length: 300 }, () => open()));
  const refused = all.filter(({ answer }) => answer.statusCode === 503);
  try {
    assert.equal(refused.length, 100);
    assert.equal(refused[0]?.answer.headers['retry-after'], '30');
    for (const each of all) if (each.answer.statusCode === 200) await each.seen(({ type }) => type === 'state');
    assert.equal((await service.post(`/${naan}/one/1.0/run`, 1)).status, 200);
  } finally {
    for (const each of all) each[Symbol.dispose]();
  }
  for (;;) {
    using again = await open();
    if (again.answer.statusCode === 200) break;
  }
});

test('a stop ends the streams at once, and waits for nobody who listens', async () => {
  await using stopping = await startService({ args: ['--drain', '1s'] });
  using events = await openEvents(stopping.url);
  await events.seen(({ type }) => type === 'state');
  const ended = stopping.stop();
  assert.equal(await events.ended, true);
  using late = await openEvents(stopping.url);
  assert.equal(late.answer.statusCode, 503);
  assert.deepEqual(await ended, { code: 0, signal: null });
});
