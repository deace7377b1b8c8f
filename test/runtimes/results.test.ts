import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ServerResponse } from 'node:http';
import { assertRequestError } from '../acceptance/support/expectations.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { RecordedNodeRuntime } from './support/recorded-node-runtime.ts';
import { runtimeKo } from './support/runtime-ko.ts';

const engine = 'results';
const naan = uniqueNaan();
const service = await startService({ args: ['--public-url', 'https://kgrid.example.org/grid/'] });
after(() => service[Symbol.asyncDispose]());
const runtime = await RecordedNodeRuntime.start(service, engine);
after(() => runtime[Symbol.asyncDispose]());
const ko = runtimeKo({
  naan,
  engine,
  code: { 'src/index.js': '' },
  consumes: ['application/json', 'text/csv', 'application/dicom'],
});
await service.serve(ko);
const path = pathOf(ko);

/** Calls answer so until the next `answering`. */
function answering(respond: (response: ServerResponse) => void): void {
  runtime.intercept = (asked, response) => {
    if (asked.path !== path) return false;
    runtime.calls.push(asked);
    respond(response);
    return true;
  };
}

test('artifacts are at the public address where one is configured', () => {
  const [activation] = runtime.activations;
  assert.equal(activation?.['baseUrl'], `https://kgrid.example.org/grid/proxy/artifacts/${ko.id}/`);
});

test('body and content type of the client go through unchanged', async () => {
  answering((response) => response.end('ok'));
  const bytes = Buffer.from([0, 1, 254, 255, 10]);
  const sent: [type: string, body: string | Buffer][] = [
    ['application/json', '{ "spaces" : 1.0, "é": "\\u0000" }'],
    ['Application/JSON; charset=utf-8', '[1]'],
    ['text/csv; header=present', 'a,b\r\n1,"2\n3"\r\n'],
    ['application/dicom', bytes],
  ];
  for (const [type, body] of sent) {
    const answer = await service.send('POST', path, { headers: { 'content-type': type }, body });
    assert.equal(answer.status, 200, answer.text);
    const call = runtime.calls.at(-1);
    assert.equal(call?.headers['content-type'], type);
    assert.deepEqual(call.body, Buffer.from(body));
    assert.equal(Number(call.headers['content-length']), Buffer.byteLength(body));
    for (const name of ['authorization', 'cookie', 'x-kgrid-runtime-secret']) assert.ok(!(name in call.headers), name);
  }
});

test('credentials of the client do not reach a runtime', async () => {
  answering((response) => response.end('ok'));
  const headers = { 'content-type': 'application/json', authorization: 'Basic dTpw', cookie: 'session=1' };
  assert.equal((await service.send('POST', path, { headers, body: '1' })).status, 200);
  const call = runtime.calls.at(-1);
  assert.ok(call !== undefined && !('authorization' in call.headers) && !('cookie' in call.headers));
});

test('an error of a runtime is a failed execution with the words of the runtime', async () => {
  const json = { 'content-type': 'application/json' };
  const failures: [status: number, headers: Record<string, string>, body: string, words: string][] = [
    [400, json, '{"description": "TypeError: x is not a function"}', 'TypeError: x is not a function'],
    [
      500,
      json,
      '{"code": 500, "name": "Internal Server Error", "description": "division by zero"}',
      'division by zero',
    ],
    [500, json, '{"error": "no description"}', 'no description'],
    [418, json, '{"status": "teapot"}', 'teapot'],
    [500, {}, 'plain words', 'plain words'],
    [500, json, '', 'the runtime answered 500'],
    [302, { location: 'http://127.0.0.1:1/' }, '', 'the runtime answered 302'],
    [401, { 'www-authenticate': 'Basic' }, '', 'the runtime answered 401'],
  ];
  for (const [status, headers, body, words] of failures) {
    answering((response) => response.writeHead(status, headers).end(body));
    assertRequestError(await service.post(path, {}), {
      status: 500,
      path,
      title: 'General Adapter Exception',
      detail: `Code execution error: ${words}`,
    });
  }
});

test('a runtime that is busy is 503 with Retry-After', async () => {
  answering((response) => response.writeHead(503).end('{"description": "all workers are busy"}'));
  const answer = await service.post(path, {});
  assertRequestError(answer, { status: 503, path, title: 'Service Unavailable', detail: /busy/ });
  assert.match(String(answer.headers['retry-after']), /^\d+$/);
});
