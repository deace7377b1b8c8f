import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basic, jsonBody, sender } from '../acceptance/support/client.ts';
import type { Answer, JsonObject } from '../acceptance/support/client.ts';
import { assertRequestError } from '../acceptance/support/expectations.ts';
import { clientOf, pathOf } from '../acceptance/support/knowledge-grid.ts';
import type { Client } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';
import { theHostsService } from './support/the-services.ts';

const PLACE = '/proxy/environments';
const naan = uniqueNaan();
const service = await theHostsService();

const koOf = (engine: string): Ko => runtimeKo({ naan, name: engine, engine, code: { 'src/index.txt': engine } });
const register = (registration: unknown): Promise<Answer> => service.send('POST', PLACE, jsonBody(registration));

const statusOf = async (client: Client, engine: string): Promise<unknown> =>
  (await client.get(`/endpoints/${naan}/${engine}/1.0/run`)).object['status'];
const activated = (engine: string, client: Client = service): Promise<true> =>
  until(`${engine} is active`, async () => ((await statusOf(client, engine)) === 'ACTIVATED' ? true : undefined));

/** An active endpoint at a runtime of an engine of its own. */
async function running(engine: string): Promise<RecordedNodeRuntime> {
  await service.serve(koOf(engine));
  const runtime = await RecordedNodeRuntime.start(service, engine);
  await activated(engine);
  return runtime;
}

/** Changes come one after another, so what a registration has set going is done when this is. */
const settled = (): Promise<Answer> => service.get('/actuator/refresh/nobody');

test('a registration is answered with itself and whether it is new', async () => {
  const registration = {
    engine: 'Answers',
    url: 'http://127.0.0.1:1/',
    version: '2',
    forceUpdate: false,
    own: [1, {}],
  };
  const first = await register(registration);
  assert.equal(first.status, 200);
  assert.deepEqual(first.object, { ...registration, status: 'new' });
  for (const url of ['http://127.0.0.1:1/', 'http://127.0.0.1:1']) {
    const again = await register({ engine: 'answers', url });
    assert.deepEqual(again.object, { engine: 'answers', url, status: 'existing runtime' });
  }
});

test('a registration leaves an audit line, a heartbeat none', async () => {
  const registration = { engine: 'audited', url: 'http://127.0.0.1:2' };
  // Of the tests before, every line is there.
  await service.get('/actuator/refresh/turns');
  await service.logged(({ subject }) => subject === 'turns');
  const first = service.log.length;
  const lines = () =>
    service.log.slice(first).filter(({ audit, subject }) => audit === true && !/^turn/.test(String(subject)));
  const expected = [
    { forceUpdate: false, count: 1 },
    { forceUpdate: false, count: 1 },
    { forceUpdate: true, count: 2 },
    { forceUpdate: false, count: 2 },
  ];
  for (const [turn, { forceUpdate, count }] of expected.entries()) {
    await register({ ...registration, forceUpdate });
    // Its line comes after those of the registration.
    await service.get(`/actuator/refresh/turn${turn}`);
    await service.logged(({ audit, subject }) => audit === true && subject === `turn${turn}`);
    assert.equal(lines().length, count, `turn ${turn}`);
  }
});

test('a registration without an engine or an address is 400 and says so', async () => {
  const texts = {
    engine: 'Not registered: Runtime failed to specify engine',
    url: 'Not registered: Runtime failed to specify its url',
  };
  const url = 'http://127.0.0.1:1';
  const wrong: [JsonObject, string][] = [
    [{}, texts.engine],
    [{ url }, texts.engine],
    [{ engine: '', url }, texts.engine],
    [{ engine: 7, url }, texts.engine],
    [{ engine: 'wrong' }, texts.url],
    [{ engine: 'wrong', url: '' }, texts.url],
    [{ engine: 'wrong', url: 'localhost:3000' }, texts.url],
    [{ engine: 'wrong', url: 'file:///etc/passwd' }, texts.url],
    [{ engine: 'wrong', url: [url] }, texts.url],
  ];
  for (const [registration, status] of wrong) {
    const answer = await register(registration);
    assert.equal(answer.status, 400, JSON.stringify(registration));
    assert.deepEqual(answer.object, { ...registration, status });
  }
  for (const body of ['[]', '"x"', 'null', '{"engine":', '', `{"engine":${'['.repeat(50_000)}${']'.repeat(50_000)}}`]) {
    const answer = await service.post(PLACE, body);
    assertRequestError(answer, { status: 400, path: PLACE, title: 'Http Message Not Readable', detail: /./ });
  }
  assert.deepEqual((await service.get(`${PLACE}/wrong`)).status, 404);
});

test('an engine that nobody knew is there as soon as a runtime brings it', async () => {
  await service.serve(koOf('r'));
  const path = `/endpoints/${naan}/r/1.0/run`;
  assert.equal((await service.get(path)).object['status'], 'FAILED_TO_ACTIVATE');
  assert.match(String((await service.get(path)).object['detail']), /engine r .* is not known here/);
  await using runtime = await RecordedNodeRuntime.start(service, 'R');
  runtime.run = (input) => [input, 'from r'];
  await activated('r');
  assert.deepEqual((await service.post(pathOf(koOf('r')), 1)).object['result'], [1, 'from r']);
  const { components } = (await service.get('/actuator/health')).object as { components: Record<string, JsonObject> };
  assert.deepEqual(components['rEngine'], { status: 'UP', details: { engines: ['r'], runtimes: 1, up: 1 } });
});

test('a heartbeat activates nothing, unless it asks for it', async () => {
  await using runtime = await running('heartbeat');
  for (const more of [{}, { forceUpdate: undefined }, { forceUpdate: 'true' }]) {
    assert.equal((await runtime.register(false, more)).object['status'], 'existing runtime');
  }
  await settled();
  assert.equal(runtime.activations.length, 1);
  assert.equal((await runtime.register(true)).object['status'], 'existing runtime');
  await settled();
  assert.equal(runtime.activations.length, 2);
});

test('a heartbeat of a runtime that had been lost activates its endpoints', async () => {
  await using runtime = await running('lost');
  await runtime.kill();
  assert.equal((await service.post(pathOf(koOf('lost')), 1)).status, 502);
  await runtime.listen();
  // Whoever looks at it meanwhile changes nothing.
  assert.equal((await service.get(`${PLACE}/lost`)).object['status'], 'up');
  await runtime.register(false);
  await until('it is activated again', () => (runtime.activations.length === 2 ? true : undefined));
  await settled();
  assert.equal((await service.post(pathOf(koOf('lost')), 1)).object['result'], 1);
  await runtime.register(false);
  await settled();
  assert.equal(runtime.activations.length, 2, 'it is lost no longer');
});

test('an engine that comes while its first endpoints are being loaded runs them', async () => {
  await using slow = await RecordedNodeRuntime.start(service, 'holdup');
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  slow.intercept = async ({ path }) => {
    if (path !== '/endpoints') return false;
    asked.resolve();
    await released.promise;
    return false;
  };
  const code = { 'src/index.txt': '' };
  await service.add(
    runtimeKo({ naan, name: 'pair', engine: 'holdup', code }),
    runtimeKo({ naan, name: 'pair', version: 'v2.0', apiVersion: '2.0', engine: 'newcomer', code }),
  );
  const reloaded = service.get(`/actuator/reload/${naan}/pair`);
  await asked.promise;
  await using runtime = await RecordedNodeRuntime.start(service, 'newcomer');
  released.resolve();
  assert.equal((await reloaded).status, 303);
  await until('it is active', async () => {
    const endpoint = (await service.get(`/endpoints/${naan}/pair/2.0/run`)).object;
    return endpoint['status'] === 'ACTIVATED' ? true : undefined;
  });
  assert.equal(runtime.activations.length, 1);
});

test('environments are what registered, with what each says of itself now', async () => {
  await using runtime = await RecordedNodeRuntime.start(service, 'listed');
  await runtime.register(false, { kept: { by: 'the activator' }, version: 'old' });
  const up = (await service.get(`${PLACE}/LISTED`)).object;
  assert.deepEqual(up, {
    engine: 'listed',
    url: runtime.url,
    version: '1.4.0',
    kept: { by: 'the activator' },
    app: 'kgrid-listed',
    status: 'up',
  });
  await register({ engine: 'listed', url: 'http://127.0.0.1:1', kept: 'too' });
  const ofEngine = async (): Promise<JsonObject[]> =>
    (await service.get(PLACE)).list.filter((each) => each['engine'] === 'listed');
  const down = {
    engine: 'listed',
    url: 'http://127.0.0.1:1',
    kept: 'too',
    status: 'Activator could not connect to runtime',
  };
  assert.deepEqual(await ofEngine(), [up, down]);
  assert.deepEqual((await service.get(`${PLACE}/listed`)).object, up, 'one that is up, of several');
  await runtime.kill();
  assert.deepEqual(
    (await ofEngine()).map((each) => each['status']),
    [down.status, down.status],
  );
  for (const engine of ['nobody', 'python', 'javascript', '__proto__']) {
    const missing = await service.get(`${PLACE}/${engine}`);
    assertRequestError(missing, {
      status: 404,
      path: `${PLACE}/${engine}`,
      title: 'Not Found',
      detail: `No runtime of the engine ${engine} is registered`,
    });
  }
});

test('nobody is shown the user and the password in the address of a runtime', async () => {
  await using runtime = await RecordedNodeRuntime.start(service, 'discreet');
  await service.serve(koOf('discreet'));
  const hidden = 'the-password';
  const url = runtime.url.replace('//', `//ann:${hidden}@`);
  runtime.intercept = ({ path }, response) => {
    const info = { engine: 'discreet', status: 'up', activator: `http://ann:${hidden}@here.example/`, url };
    if (path === '/info') response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info));
    return path === '/info';
  };
  for (const address of [url, `${url}/`, url.replace('//', ''), url.replace('//', '\\\\')]) {
    const answer = await register({ engine: 'discreet', url: address, more: [{ note: `see ${url}/x` }] });
    assert.equal(answer.object['status'], 'existing runtime', answer.text);
    assert.equal(answer.object['url'], `${runtime.url}/`);
  }
  await register({ engine: 'discreet', url: `http://ann:${hidden}@127.0.0.1:1`, forceUpdate: true });
  await register({ engine: 'discreet', url: `ftp://ann:${hidden}@127.0.0.1:1` });
  await settled();
  assert.equal((await service.post(pathOf(koOf('discreet')), 4)).object['result'], 4);
  const listed = (await service.get(`${PLACE}/discreet`)).object;
  assert.deepEqual([listed['url'], listed['activator']], [runtime.url, 'http://here.example/']);
  assert.deepEqual(listed['more'], [{ note: `see ${runtime.url}/x` }]);
  for (const path of [PLACE, '/endpoints', '/actuator/health', '/actuator/info', `/endpoints/${naan}/discreet/1.0/run`])
    assert.ok(!(await service.get(path)).text.includes(hidden), path);
  assert.ok(!JSON.stringify(service.log).includes(hidden));
});

test('outside dev a runtime registers with the login in the address it was given', async () => {
  await using secured = await startService({
    profile: 'secure',
    env: { KGRID_USER: 'u', KGRID_PASSWORD: 'p' },
    credentials: 'u:p',
  });
  await secured.serve(koOf('secured'));
  const stranger = { url: secured.url, send: sender(secured.url) };
  await using runtime = await RecordedNodeRuntime.start(stranger, 'secured');
  assert.equal((await runtime.register(true)).status, 401);
  assert.equal((await stranger.send('GET', `${PLACE}/secured`)).status, 404);
  for (const login of ['u:x', 'u:', ':p']) {
    const headers = { 'content-type': 'application/json', authorization: basic(login) };
    const body = JSON.stringify({ engine: 'secured', url: runtime.url });
    assert.equal((await stranger.send('POST', PLACE, { headers, body })).status, 401, login);
  }
  const forged = { 'content-type': 'application/json', 'x-kgrid-runtime-secret': 'guessed' };
  const body = JSON.stringify({ engine: 'secured', url: runtime.url });
  assert.equal((await stranger.send('POST', PLACE, { headers: forged, body })).status, 401);

  runtime.activator = { url: secured.url, send: sender(secured.url, 'u:p') };
  assert.equal((await runtime.register(true)).object['status'], 'new');
  await activated('secured', secured);
  // Execution, the list of runtimes and the artifacts are open.
  const open = clientOf(secured.url);
  assert.equal((await open.post(pathOf(koOf('secured')), 3)).object['result'], 3);
  assert.equal((await open.get(`${PLACE}/secured`)).object['status'], 'up');
  assert.equal((await open.get(`/proxy/artifacts/${naan}/secured/v1.0/src/index.txt`)).text, 'secured');
});
