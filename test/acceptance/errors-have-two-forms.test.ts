import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from './support/client.ts';
import { assertRequestError, assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

test('errors under /kos are shelf errors (S-ERR-SHELF)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const at = `/kos/${ko.id}`;
  const missing = `/kos/${uniqueNaan()}/ko/v1.0`;
  const cases: [number, string, Promise<Answer>][] = [
    [404, missing, service.get(missing)],
    [404, '/kos/unknown', service.get('/kos/unknown')],
    [400, at, service.put(at, '[')],
    [405, at, service.post(at, {})],
    [405, '/kos', service.send('DELETE', '/kos')],
    [412, at, service.put(at, {}, { 'if-match': '"x"' })],
    [415, '/kos', service.post('/kos', {})],
    [416, `${at}/src/index.js`, service.get(`${at}/src/index.js`, { range: 'bytes=99999-' })],
    [500, `/kos/${ko.naan}/ko`, service.get(`/kos/${ko.naan}/ko?v=none`, { accept: 'application/zip' })],
  ];
  for (const [status, path, sent] of cases) assertShelfError(await sent, { status, path, error: /./ });
});

test('errors everywhere else are request errors (S-ERR-REQUEST)', async () => {
  const ko = javascriptKo('function run() { throw new Error("x"); }', { naan: uniqueNaan() });
  await service.serve(ko);
  const run = pathOf(ko);
  const titles = {
    404: 'Endpoint not found',
    405: 'Method Not Allowed',
    415: 'Unsupported Media Type',
    500: 'General Adapter Exception',
  };
  const missing = `/${uniqueNaan()}/ko/run`;
  const cases: [keyof typeof titles, string, Promise<Answer>][] = [
    [404, missing, service.post(missing, {})],
    [404, '/endpoints/a/b/c', service.get('/endpoints/a/b/c')],
    [405, run, service.get(run)],
    [405, '/endpoints', service.post('/endpoints', {})],
    [405, '/actuator/health', service.post('/actuator/health', {})],
    [415, run, service.send('POST', run, { body: '{}' })],
    [500, run, service.post(run, {})],
  ];
  for (const [status, path, sent] of cases) {
    assertRequestError(await sent, { status, path, title: titles[status], detail: /./ });
  }
});

test('an unknown route is 404 as a request error', async () => {
  for (const path of ['/favicon.ico.none', '/actuator/none', '/one', '/actuator/activation/none', '/a/b']) {
    const answer = await service.get(path);
    assert.equal(answer.status, 404, path);
    assertRequestError(answer, { status: 404, path, title: String(answer.object['Title']), detail: /./ });
  }
});

test('every 405 has Allow', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const cases: [string, string, RegExp][] = [
    ['DELETE', '/kos', /(?=.*GET)(?=.*POST)/],
    ['POST', `/kos/${ko.id}`, /(?=.*GET)(?=.*PUT)(?=.*DELETE)/],
    ['PATCH', `/kos/${ko.id}`, /GET/],
    ['GET', '/kos/manifest', /POST/],
    ['GET', '/kos/manifest-list', /POST/],
    ['PUT', `/kos/${ko.id}/src/index.js`, /GET/],
    ['POST', '/endpoints', /GET/],
    ['POST', '/actuator/health', /GET/],
    ['PUT', '/actuator/activation/refresh', /(?=.*GET)(?=.*POST)/],
    ['GET', pathOf(ko, 'welcome'), /POST/],
  ];
  for (const [method, path, allow] of cases) {
    const answer = await service.send(method, path);
    assert.equal(answer.status, 405, `${method} ${path}: ${answer.text}`);
    assert.match(String(answer.headers.allow), allow);
    assert.ok(!String(answer.headers.allow).split(/, */).includes(method));
  }
});

test('Time is the time of the error in words (S-ERR-TIME)', async () => {
  const answers = [
    await service.get(`/kos/${uniqueNaan()}/ko/v1.0`),
    await service.post(`/${uniqueNaan()}/ko/run`, {}),
  ];
  for (const answer of answers) {
    const time = String(answer.object['Time']);
    const [day, month, date, clock, zone, year] = time.split(' ');
    assert.match(
      time,
      /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{2} \d{2}:\d{2}:\d{2} \S+ \d{4}$/,
    );
    const known = Date.parse(`${day ?? ''}, ${date ?? ''} ${month ?? ''} ${year ?? ''} ${clock ?? ''} ${zone ?? ''}`);
    if (!Number.isNaN(known)) assert.ok(Math.abs(Date.now() - known) < 120_000, time);
  }
});

test('no error tells a place of the host, a stack or a library', async () => {
  const naan = uniqueNaan();
  const ko = javascriptKo('function run() { return new Error("x").stack + missing; }', { naan });
  const thrower = javascriptKo('function run() { const e = new Error("x"); e.message = e.stack; throw e; }', {
    naan,
    name: 'two',
  });
  await service.serve(ko, thrower);
  const answers = [
    await service.post(pathOf(ko), {}),
    await service.post(pathOf(thrower), {}),
    await service.get(`/kos/${ko.id}/none`),
    await service.get('/kos/%00/b/c'),
    await service.post('/kos/manifest', '{"manifest": '),
    await service.importZip(Buffer.from('PK\u0003\u0004')),
    await service.get('/%'),
  ];
  for (const answer of answers) {
    assert.ok(answer.status >= 400);
    assert.doesNotMatch(answer.text, /node_modules|node:|\/src\/(http|engines|shelf|lib)\/|isolated|fastify|FST_/i);
  }
});
