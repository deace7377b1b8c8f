import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestActivator } from './activator.ts';
import { secret, TestRuntime } from './runtime.ts';

describe('the protocol between activator and runtime', () => {
  let activator: TestActivator;
  let runtime: TestRuntime;
  before(async () => {
    activator = await TestActivator.start();
    runtime = await TestRuntime.start(activator, {
      KGRID_PROXY_ADAPTER_URL: activator.url.replace('//', '//user:pass%20word@'),
      KGRID_PROXY_HEARTBEAT_INTERVAL: '0.2',
    });
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  it('registers with forceUpdate at the start and without it at each heartbeat', async () => {
    await runtime.line(({ event }) => event === 'registered');
    while (activator.registrations.length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
    const [first, ...later] = activator.registrations;
    assert.partialDeepStrictEqual(first, { engine: 'node', url: runtime.url, version: '0.1.0', forceUpdate: true });
    assert.ok(later.every(({ forceUpdate, url }) => forceUpdate === false && url === runtime.url));
    const { headers } = activator.requests[0] ?? assert.fail();
    assert.equal(headers.authorization, `Basic ${Buffer.from('user:pass word').toString('base64')}`);
    assert.equal(headers['x-kgrid-runtime-secret'], secret);
  });

  it('activates an endpoint, tells of it and runs it', async () => {
    const files = { 'src/index.js': 'module.exports = ({ name }) => `Hello ${name}`;' };
    const { status, body } = await runtime.activate({ uri: 'hello/world/v1.0/welcome', ko: 'hello/world/v1', files });
    assert.equal(status, 200);
    const { activated, ...rest } = body;
    assert.match(String(activated), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const uri = 'hello/world/v1.0/welcome';
    assert.deepEqual(rest, { id: uri, uri, engine: 'node', baseUrl: runtime.url, status: 'Activated', batch: true });
    assert.ok(activator.fetched.includes('proxy/artifacts/hello/world/v1/src/index.js'));

    const reply = await runtime.post(uri, { name: 'Ada' });
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.body, { result: 'Hello Ada' });
    assert.equal((await runtime.get(`endpoints/${uri}`)).body['status'], 'Activated');
    const all = (await runtime.get('endpoints')).body as unknown as { uri: string; engine: string }[];
    assert.deepEqual(
      all.map((endpoint) => [endpoint.uri, endpoint.engine]),
      [[uri, 'node']],
    );
  });

  it('says what it is', async () => {
    const { body } = await runtime.get('info');
    const wanted = { app: 'KGrid Node Runtime', version: '0.1.0', engine: 'node', url: runtime.url, status: 'up' };
    assert.partialDeepStrictEqual(body, wanted);
  });

  it('registers again when asked to', async () => {
    const { status, body } = await runtime.get('register');
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, { engine: 'node', forceUpdate: true, status: 'new' });
  });

  it('answers what it does not know with a description', async () => {
    assert.deepEqual(await bare(runtime.post('a/b/c/d', {})), [
      404,
      { description: 'No endpoint a/b/c/d is active in this runtime' },
    ]);
    assert.equal((await runtime.get('endpoints/a/b/c/d')).status, 404);
    assert.equal((await runtime.get('nothing')).status, 404);
    const wrongMethod = await runtime.get('dependencies');
    assert.deepEqual([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'POST']);
  });

  it('refuses descriptors that it cannot use', async () => {
    const good = runtime.descriptor({ files: { 'src/index.js': '' } });
    for (const [field, value] of Object.entries({
      uri: '../kos',
      baseUrl: 'file:///etc/',
      artifact: ['../../etc/passwd'],
      entry: '/../x.js',
      engine: 'python',
    })) {
      const { status, body } = await runtime.post('endpoints', { ...good, [field]: value });
      assert.equal(status, 400, field);
      assert.equal(typeof body['description'], 'string');
    }
    assert.equal((await runtime.post('endpoints', '{')).status, 400);
    assert.equal((await runtime.post('endpoints', good, { 'content-type': 'text/plain' })).status, 415);
  });

  it('names the artifact that cannot be fetched', async () => {
    const descriptor = runtime.descriptor({ files: { 'src/index.js': '' } });
    const { status, body } = await runtime.post('endpoints', { ...descriptor, artifact: ['src/missing.js'] });
    assert.equal(status, 500);
    assert.equal(
      body['description'],
      'The artifact src/missing.js could not be fetched: The activator answered 404 for it',
    );
  });

  it('takes requests only with the secret, and none of web pages', async () => {
    for (const path of ['info', 'endpoints', 'hello/world/v1.0/welcome']) {
      for (const headers of [{}, { 'x-kgrid-runtime-secret': 'wrong' }, { 'x-kgrid-runtime-secret': `${secret}x` }]) {
        assert.equal((await runtime.request(path, { headers })).status, 401);
        assert.equal((await runtime.request(path, { method: 'POST', headers })).status, 401);
      }
    }
    assert.equal((await runtime.post('endpoints', {}, { origin: 'http://evil.test' })).status, 403);
  });
});

const bare = async (reply: Promise<{ status: number; body: unknown }>): Promise<[number, unknown]> => {
  const { status, body } = await reply;
  return [status, body];
};
