import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { jsonBody } from '../acceptance/support/client.ts';
import type { JsonObject } from '../acceptance/support/client.ts';
import { assertRequestError } from '../acceptance/support/expectations.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import type { RuntimeKoParts } from './support/runtime-ko.ts';
import { theHostsService } from './support/the-services.ts';

const engine = 'wire';
const naan = uniqueNaan();
const service = await theHostsService();
const runtime = await RecordedNodeRuntime.start(service, engine);
after(() => runtime[Symbol.asyncDispose]());

const koOf = (name: string, parts: Partial<RuntimeKoParts> = {}): Ko =>
  runtimeKo({ naan, name, engine, code: { 'src/index.js': '1' }, ...parts });

/** What the runtime is sent when the KO is activated. */
async function sentFor(ko: Ko): Promise<JsonObject> {
  const before = runtime.activations.length;
  await service.serve(ko);
  assert.equal(runtime.activations.length, before + 1);
  return runtime.activations.at(-1) ?? {};
}

test('an activation has all that a runtime needs, whatever the deployment leaves out', async () => {
  const plain = koOf('plain', { deployment: { function: undefined } });
  const sent = await sentFor(plain);
  assert.match(String(sent['checksum']), /^[0-9a-f]{64}$/);
  assert.deepEqual(sent, {
    uri: `${naan}/plain/1.0/run`,
    baseUrl: `${service.url}/proxy/artifacts/${naan}/plain/v1.0/`,
    artifact: ['src/index.js'],
    entry: 'src/index.js',
    function: '',
    engine,
    checksum: sent['checksum'],
  });
});

test('an activation has the list of artifacts, the entry and what else the deployment says', async () => {
  const code = { 'src/helper.js': 'helper', 'src/main.js': 'main', 'package.json': '{}' };
  const own = {
    entry: 'src/main.js',
    function: 'start',
    adapter: 'V8',
    deep: { list: [1, 'two', null] },
    engine: { name: 'WIRE' },
  };
  const fixed = { uri: 'stolen/by/descriptor', baseUrl: 'http://127.0.0.1:1/', checksum: 'none' };
  const sent = await sentFor(koOf('full', { code, deployment: { ...own, ...fixed } }));
  assert.deepEqual(sent, {
    ...own,
    engine,
    artifact: ['src/helper.js', 'src/main.js', 'package.json'],
    uri: `${naan}/full/1.0/run`,
    baseUrl: `${service.url}/proxy/artifacts/${naan}/full/v1.0/`,
    checksum: sent['checksum'],
  });
  assert.notEqual(sent['checksum'], 'none');
});

test('the checksum is the same until a file of the package changes', async () => {
  const first = await sentFor(koOf('sum'));
  const again = await sentFor(koOf('sum'));
  const changed = await sentFor(koOf('sum', { code: { 'src/index.js': '2' } }));
  assert.equal(again['checksum'], first['checksum']);
  assert.notEqual(changed['checksum'], first['checksum']);
});

test('artifacts are fetched at the address that the runtime registered at', async () => {
  const registered = async (host: string): Promise<string> => {
    const sent = jsonBody({ engine, url: runtime.url, forceUpdate: true });
    await service.send('POST', '/proxy/environments', { ...sent, headers: { ...sent.headers, host } });
    await service.get(`/actuator/refresh/${engine}`);
    return String(runtime.activations.at(-1)?.['baseUrl']).split('/proxy/artifacts/')[0] ?? '';
  };
  await service.serve(koOf('address'));
  assert.equal(await registered('activator:8080'), 'http://activator:8080');
  assert.equal(await registered(new URL(service.url).host), service.url);
});

test('artifacts are given byte for byte, those of the new package already while it is activated', async () => {
  const bytes = Buffer.from([0, 255, 13, 10, 195, 40]);
  const files = { 'src/index.js': 'first', 'src/a b/é.bin': bytes };
  const ko = koOf('bytes', { code: files });
  await service.serve(ko);
  const at = `/proxy/artifacts/${ko.id}`;
  const binary = await service.get(`${at}/src/a%20b/%C3%A9.bin`);
  assert.deepEqual([binary.status, binary.bytes], [200, bytes]);
  assert.equal(binary.headers['content-type'], 'application/octet-stream');
  assert.equal((await service.get(`${at}/metadata.json`)).object['@id'], ko.id);
  const head = await service.send('HEAD', `${at}/src/index.js`);
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '5', '']);

  const fetched = (): string | undefined => runtime.artifacts.get(`${service.url}${at}/src/index.js`);
  assert.equal(fetched(), 'first');
  const next = koOf('bytes', { code: { ...files, 'src/index.js': 'second' } });
  await service.add(next);
  assert.equal((await service.get(`${at}/src/index.js`)).text, 'first', 'imported, not active');
  await service.reload(next);
  assert.equal(fetched(), 'second');
});

test('nothing but files of loaded packages can be fetched', async () => {
  const ko = koOf('closed');
  await service.serve(ko);
  await service.add(koOf('shelved'));
  const base = '/proxy/artifacts';
  const wrong = [
    `${base}/${ko.id}/src/none.js`,
    `${base}/${ko.id}/src`,
    `${base}/${ko.id}/`,
    `${base}/${ko.id}/../v1.0/src/index.js`,
    `${base}/${ko.id}/..%2f..%2f..%2fpackage.json`,
    `${base}/${ko.id}/src/..%2f..%2fmetadata.json`,
    `${base}/${ko.id}//etc/passwd`,
    `${base}/${naan}/shelved/v1.0/src/index.js`,
    `${base}/${naan}/nothing/v1.0/src/index.js`,
  ];
  for (const path of wrong) {
    const answer = await service.get(path);
    assertRequestError(answer, { status: 404, path, title: 'Not Found', detail: /./ });
  }
  const write = await service.send('PUT', `${base}/${ko.id}/src/index.js`, { body: 'x' });
  assert.deepEqual([write.status, write.headers['allow']], [405, 'GET, HEAD']);
});
