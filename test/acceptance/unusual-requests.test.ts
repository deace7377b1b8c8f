import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { exchange } from './support/client.ts';
import { assertRequestError, assertShelfError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const raw = (lines: string[], body = ''): Promise<string> =>
  exchange(service.url, `${lines.join('\r\n')}\r\n\r\n${body}`);
const statusOf = (response: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1]);

test('URLs with broken escapes are 400', async () => {
  for (const path of ['/%', '/%zz', '/a/b/%E0%A4%A/run']) {
    const answer = await service.get(path);
    assertRequestError(answer, { status: 400, path, title: 'Bad Request', detail: /./ });
  }
  assertShelfError(await service.get('/kos/%zz/b/c'), { status: 400, path: '/kos/%zz/b/c', error: /./ });
});

test('encoded slashes, dots and NUL in ids are not found', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const ids = [
    `${ko.naan}%2Fko/v1.0`,
    `${ko.naan}/ko%2Fv1.0/x`,
    '..%2F..%2Fetc/passwd/x',
    '../../etc',
    'a%00b/c/d',
    '__proto__/b/c',
    'constructor/b/c',
  ];
  for (const id of ids) {
    const answer = await service.get(`/kos/${id}`);
    assert.ok([400, 404].includes(answer.status), `${id}: ${answer.status}`);
    assert.deepEqual(Object.keys(answer.object), ['Status', 'Request', 'Error', 'Time']);
    const executed = await service.post(`/${id}/run`, {});
    assert.ok([400, 404].includes(executed.status), `${id}: ${executed.status}`);
    assert.deepEqual(Object.keys(executed.object), ['Status', 'Instance', 'Title', 'Time', 'Detail']);
  }
});

test('an encoded spelling of a path is the same path', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  assert.equal((await service.get(`/k%6Fs/${ko.id}`)).status, 200);
  assert.equal((await service.get(`/kos/%61${ko.id.slice(1)}`)).status, 200);
  assert.equal((await service.post(`/${ko.naan}/ko/1%2E0/w%65lcome`, { name: 'Ada' })).status, 200);
});

test('a long id is not found, a longer URL is refused', async () => {
  assert.equal((await service.get(`/kos/${'a'.repeat(300)}/b/c`)).status, 404);
  assert.equal((await service.post(`/${'a'.repeat(300)}/b/c`, {})).status, 404);
  const { status } = await service.get(`/kos/${'a'.repeat(20_000)}/b/c`);
  assert.ok(status === 431 || status === 414, String(status));
});

test('huge headers are 431', async () => {
  const response = await raw(['GET /kos HTTP/1.1', 'Host: x', `X-Big: ${'x'.repeat(20_000)}`]);
  assert.equal(statusOf(response), 431);
});

test('broken HTTP is 400', async () => {
  const requests = [
    ['GET /kos HTTP/1.1'],
    ['POST /kos HTTP/1.1', 'Host: x', 'Content-Length: 5', 'Content-Length: 6'],
    ['POST /kos HTTP/1.1', 'Host: x', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
    ['FOO /kos HTTP/1.1', 'Host: x'],
    ['GET \\kos HTTP/1.1', 'Host: x'],
  ];
  for (const lines of requests) assert.equal(statusOf(await raw(lines)), 400, lines.join(' | '));
});

test('methods that a path does not have are 405 with Allow', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  for (const method of ['PATCH', 'PUT', 'DELETE', 'TRACE']) {
    for (const path of [pathOf(ko, 'welcome'), '/endpoints', '/actuator/info', '/kos/manifest']) {
      const answer = await service.send(method, path);
      assert.ok(answer.status === 405, `${method} ${path}: ${answer.status}`);
      assert.ok(answer.headers.allow !== undefined);
    }
  }
});

test('HEAD follows GET for reads', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources: { 'a.txt': 'a' } });
  await service.serve(ko);
  const paths = [
    '/',
    '/kos',
    '/endpoints',
    '/endpoints/javascript',
    `/kos/${ko.id}`,
    `/kos/ark:/${ko.naan}/ko`,
    pathOf(ko, 'files'),
    '/actuator/info',
  ];
  for (const path of paths) {
    const [get, head] = [await service.get(path), await service.send('HEAD', path)];
    assert.equal(head.status, get.status, path);
    assert.equal(head.headers['content-type'], get.headers['content-type'], path);
    assert.equal(head.bytes.length, 0);
  }
});

test('OPTIONS answers CORS', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  for (const path of [pathOf(ko, 'welcome'), '/kos', '/endpoints']) {
    const answer = await service.send('OPTIONS', path, {
      headers: {
        origin: 'https://page.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    assert.ok(answer.status === 204 || answer.status === 200, String(answer.status));
    assert.equal(answer.headers['access-control-allow-origin'], '*');
    assert.match(String(answer.headers['access-control-allow-methods']), /POST/);
    assert.match(String(answer.headers['access-control-allow-headers']), /content-type/i);
  }
});

test('deep and odd JSON harms nothing', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  for (const body of [deep, '{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}']) {
    const { status } = await service.post(pathOf(ko, 'welcome'), body);
    assert.ok([200, 400, 500].includes(status), String(status));
    assert.ok([200, 400].includes((await service.put(`/kos/${ko.id}`, body)).status));
    assert.equal((await service.post('/kos/manifest', body)).status, 400);
  }
  assert.equal((await service.get('/actuator/health')).status, 200);
});

test('requests on one connection are answered in their order', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const call = (name: string, end: string): string => {
    const body = JSON.stringify({ name });
    return `POST ${pathOf(ko, 'welcome')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${end}\r\n${body}`;
  };
  const response = await exchange(
    service.url,
    call('one', '') + call('two', '') + call('three', 'Connection: close\r\n'),
  );
  assert.deepEqual(response.match(/Grid, (\w+)/g), ['Grid, one', 'Grid, two', 'Grid, three']);
});

test('a client that goes away during its call harms nobody', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const { connect } = await import('node:net');
  const { hostname, port } = new URL(service.url);
  for (let i = 0; i < 10; i++) {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(
      `POST ${pathOf(ko, 'welcome')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"name":"Ada"}`,
    );
    socket.destroySoon();
  }
  const answer = await service.post(pathOf(ko, 'welcome'), { name: 'Ada' });
  assert.equal(answer.object['result'], 'Welcome to the Knowledge Grid, Ada');
});

test('a body with a Content-Encoding is 415 with what to do', async () => {
  const ko = javascriptKo('function run(input) { return input; }', { naan: uniqueNaan() });
  await service.serve(ko);
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const answer = await service.send('POST', pathOf(ko), { body: gzipSync('{"n":1}'), headers });
  const detail = 'A body with Content-Encoding gzip is not read here: send it as it is';
  assertRequestError(answer, { status: 415, path: pathOf(ko), title: 'Unsupported Media Type', detail });
  assert.equal(answer.headers['accept-encoding'], 'identity');
});

test('browsers are told to take every answer as what it is declared to be', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  const paths = [
    '/',
    '/kos',
    `/kos/${ko.id}`,
    `/kos/${ko.id}/metadata.json`,
    '/endpoints',
    '/actuator/health',
    '/none',
  ];
  for (const path of [...paths, '/actuator/info', '/openapi.json', '/doc', pathOf(ko, 'welcome')]) {
    assert.equal((await service.get(path)).headers['x-content-type-options'], 'nosniff', path);
  }
  for (const body of [{ name: 'Ada' }, '{']) {
    const { status, headers } = await service.post(pathOf(ko, 'welcome'), body);
    assert.equal(headers['x-content-type-options'], 'nosniff', String(status));
  }
});
