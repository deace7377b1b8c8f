/**
 * Most requests are answered before the router sees them. A request of a page, and one with a condition, go through
 * the router: both must hear the same.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, Sent } from './support/client.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import { startService } from './support/service.ts';

const CODE = `function run(input) {
  if (input === 'throw') throw new Error('of the code');
  if (input === 'large') return 'x'.repeat(300_000);
  return typeof input === 'string' ? input : { input };
}`;

const JSON_TYPE = { 'content-type': 'application/json' };
const calls: Readonly<Record<string, Sent>> = {
  'an object': { body: '{"a":[1,2]}' },
  'white space and letters beyond ASCII': { body: ' "Ä \\u0000 😀" ' },
  'a body in chunks': { body: '[1]', headers: { 'transfer-encoding': 'chunked' } },
  'an empty body': { body: '' },
  'what is not JSON': { body: '{a' },
  'what is not UTF-8': { body: Buffer.from([0x22, 0xff, 0x22]) },
  'a NUL character': { body: '"\0"' },
  'a byte order mark': { body: '\ufeff{"a":1}' },
  'a body that is encoded': { body: '1', headers: { 'content-encoding': 'gzip' } },
  'code that throws': { body: '"throw"' },
  'a result beyond its limit': { body: '"large"' },
  'a body beyond its limit': { body: JSON.stringify('x'.repeat(30_000)) },
  'a type with parameters': { body: '1', headers: { 'content-type': 'Application/JSON; charset=utf-8' } },
  'a type that is not declared': { body: '1', headers: { 'content-type': 'text/xml' } },
  'no type': { body: '1', headers: { 'content-type': '' } },
  'the minimal profile': { body: '1', headers: { accept: 'application/json;profile=minimal' } },
  'a declared text': { body: '"a,b"', headers: { accept: 'text/csv' } },
  'what the endpoint cannot answer': { body: '1', headers: { accept: 'image/png' } },
  'a token that is none': { body: '1', headers: { 'x-kgrid-call-token': 'v1.e30.x', 'x-kgrid-depth': '99' } },
  'the depth of a call by another': { body: '1', headers: { 'x-kgrid-depth': '3', 'x-kgrid-deadline-ms': '900' } },
  'too deep a call': { body: '1', headers: { 'x-kgrid-depth': '99' } },
  'a call whose time is over': { body: '1', headers: { 'x-kgrid-depth': '1', 'x-kgrid-deadline-ms': '0' } },
};

/** What an answer says, without what no two answers share and what only pages need. */
function said({ status, headers, bytes }: Answer): unknown {
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(date|connection|keep-alive|x-request-id|kgrid-execution-id|access-control-.*)$/.test(name),
  );
  const text = bytes.toString('latin1').replace(/"Time":"[^"]*"/, '"Time":"…"');
  return { status, headers: Object.fromEntries(kept.sort()), text };
}

const service = await startService({ args: ['--max-body', '20000', '--max-result', '200000'] });
after(() => service[Symbol.asyncDispose]());

test('a program and a page get the same answer to a call', async () => {
  const ko = javascriptKo(CODE, { naan: uniqueNaan(), produces: ['application/json', 'text/csv'] });
  await service.serve(ko);
  const statuses = new Set<number>();
  for (const [what, { body = '', headers }] of Object.entries(calls)) {
    const plain = { body, headers: { ...JSON_TYPE, ...headers } } satisfies Sent;
    const ofPage = { ...plain, headers: { ...plain.headers, origin: 'https://page.example' } };
    const answer = await service.send('POST', pathOf(ko), plain);
    assert.deepEqual(said(answer), said(await service.send('POST', pathOf(ko), ofPage)), what);
    statuses.add(answer.status);
  }
  assert.deepEqual([...statuses].sort(), [200, 400, 406, 413, 415, 500]);
});

test('metadata is the same with a condition that does not hold', async () => {
  const ko = welcomeKo({ naan: uniqueNaan(), metadata: { title: 'Größe' } });
  await service.serve(ko);
  const missing = `/kos/${uniqueNaan()}/none/v1`;
  for (const path of [`/kos/${ko.id}`, `/kos/${ko.id}/`, missing]) {
    for (const accept of [undefined, '*/*', 'application/json', 'text/html']) {
      const headers = accept === undefined ? {} : { accept };
      const plain = await service.send('GET', path, { headers });
      const conditional = await service.send('GET', path, { headers: { ...headers, 'if-none-match': '"other"' } });
      assert.deepEqual(said(plain), said(conditional), `${path} ${accept ?? ''}`);
      assert.equal(plain.status, path === missing ? 404 : 200);
    }
  }
});

test('metadata that was replaced is read at once', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  for (const title of ['one', 'two']) {
    const text = JSON.stringify({ ...ko.metadata, title });
    assert.equal((await service.send('PUT', `/kos/${ko.id}`, { body: text, headers: JSON_TYPE })).status, 200);
    assert.equal((await service.get(`/kos/${ko.id}`)).text, text);
  }
  assert.equal((await service.send('DELETE', `/kos/${ko.id}`)).status, 204);
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 404);
});
