import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRequestError } from './support/expectations.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, ko as koOf, resourceKo, uniqueNaan, welcomeKo } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const ECHO = 'function run(input) { return { type: typeof input, value: input }; }';
const TEXT = 'function run() { return "a,b"; }';

async function served(
  code: string,
  types: { consumes?: readonly string[]; produces?: readonly string[] } = {},
): Promise<Ko> {
  const ko = javascriptKo(code, { naan: uniqueNaan(), ...types });
  await service.serve(ko);
  return ko;
}
const post = (ko: Ko, body: string, headers: Record<string, string> = {}) =>
  service.send('POST', pathOf(ko), { body, headers: { 'content-type': 'application/json', ...headers } });

test('a media type that is not declared is 415 with the types that are (S-REQ-CONTENT-TYPE, S-REQ-415)', async () => {
  const ko = await served(ECHO, { consumes: ['application/json', 'text/csv'] });
  for (const type of ['text/plain', 'application/xml', 'nonsense', 'application/jsonx']) {
    const answer = await post(ko, '{}', { 'content-type': type });
    assertRequestError(answer, {
      status: 415,
      path: pathOf(ko),
      title: 'Unsupported Media Type',
      detail: `Endpoint ${ko.naan}/ko/1.0/run does not support media type ${type}. Supported Content Types: [application/json, text/csv]`,
    });
  }
});

test('a request without Content-Type is 415 (S-REQ-CONTENT-TYPE)', async () => {
  const ko = await served(ECHO);
  for (const body of ['{}', '']) {
    const answer = await service.send('POST', pathOf(ko), { body });
    const detail =
      /^Endpoint .*\/1\.0\/run does not support media type .*Supported Content Types: \[application\/json\]$/;
    assertRequestError(answer, { status: 415, path: pathOf(ko), title: 'Unsupported Media Type', detail });
  }
});

test('parameters and case of a Content-Type do not count', async () => {
  const ko = await served(ECHO, { consumes: ['Application/JSON; charset=utf-8'] });
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON;charset="UTF-8"',
    'application/json;v=1',
  ]) {
    assert.equal((await post(ko, '{}', { 'content-type': type })).status, 200, type);
  }
});

test('declared wildcards match', async () => {
  const part = await served(ECHO, { consumes: ['text/*'] });
  assert.equal((await post(part, 'x', { 'content-type': 'text/csv' })).status, 200);
  assert.equal((await post(part, '{}', { 'content-type': 'application/json' })).status, 415);
  const any = await served(ECHO, { consumes: ['*/*'] });
  for (const type of ['application/json', 'image/png']) {
    assert.equal((await post(any, '{}', { 'content-type': type })).status, 200, type);
  }
});

test('an operation without a declared body takes application/json', async () => {
  const naan = uniqueNaan();
  const ko = koOf({
    naan,
    endpoints: [{ path: '/run', deployment: { artifact: 'src/index.js', engine: 'javascript', function: 'run' } }],
    files: { 'src/index.js': ECHO },
  });
  await service.serve(ko);
  assert.deepEqual((await post(ko, '{"a":1}')).object['result'], { type: 'object', value: { a: 1 } });
  const other = await post(ko, 'a', { 'content-type': 'text/plain' });
  assert.match(String(other.object['Detail']), /Supported Content Types: \[application\/json\]$/);
});

test('JSON types are parsed for the code', async () => {
  const ko = await served(ECHO, { consumes: ['application/json', 'application/fhir+json'] });
  for (const type of ['application/json', 'application/fhir+json']) {
    const answer = await post(ko, '{"a":[1]}', { 'content-type': type });
    assert.deepEqual(answer.object['result'], { type: 'object', value: { a: [1] } });
  }
});

test('malformed JSON is 400, an empty body included', async () => {
  const ko = await served(ECHO, { consumes: ['application/json', 'application/fhir+json'] });
  for (const type of ['application/json', 'application/fhir+json']) {
    for (const body of ['', ' ', '{"a":', "{'a':1}", '{"a":1}}', 'undefined', '[1,]', '\u0000', 'NaN']) {
      const answer = await post(ko, body, { 'content-type': type });
      assertRequestError(answer, { status: 400, path: pathOf(ko), title: 'Http Message Not Readable', detail: /./ });
    }
  }
});

test('JSON that is not UTF-8 is 400', async () => {
  const ko = await served(ECHO);
  const body = Buffer.from('{"name":"\xe9"}', 'latin1');
  const headers = { 'content-type': 'application/json' };
  const answer = await service.send('POST', pathOf(ko), { body, headers });
  assertRequestError(answer, { status: 400, path: pathOf(ko), title: 'Http Message Not Readable', detail: /UTF-8/ });
});

test('other declared types reach the code as a string', async () => {
  const ko = await served(ECHO, { consumes: ['text/csv', 'text/plain'] });
  for (const body of ['a,b\n1,2\r\n', '{"a":1}', 'ü € 𝄞', '']) {
    const answer = await post(ko, body, { 'content-type': 'text/csv' });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.object['result'], { type: 'string', value: body });
    assert.equal((answer.object['info'] as { inputs: string }).inputs, body);
  }
});

test('an Accept that nothing meets is 406 (S-REQ-ACCEPT)', async () => {
  const ko = await served(TEXT, { produces: ['application/json', 'text/csv'] });
  for (const accept of ['image/png', 'text/html, application/xml;q=0.9', 'application/json;q=0, image/*']) {
    const answer = await post(ko, '{}', { accept });
    assertRequestError(answer, { status: 406, path: pathOf(ko), title: 'Http MediaType not acceptable', detail: /./ });
  }
});

test('application/json is always acceptable (S-REQ-ACCEPT)', async () => {
  const ko = await served(TEXT, { produces: ['text/csv'] });
  for (const accept of ['application/json', '*/*', 'application/*', 'text/html, */*;q=0.1', 'APPLICATION/JSON']) {
    assert.equal((await post(ko, '{}', { accept })).status, 200, accept);
  }
  // Parameters that mean nothing here, and a header without content.
  for (const accept of [
    'application/json;version=1',
    'application/json; odata="a,b;c" , x/y',
    'x/y, */*; v=2; q=0.1',
    '',
  ]) {
    assert.equal((await post(ko, '{}', { accept })).object['result'], 'a,b', accept);
  }
  const preferred = await post(ko, '{}', { accept: 'application/json; v=1; q=0.2, text/csv; header=present; q=0.8' });
  assert.equal(preferred.text, 'a,b');
  const none = await service.send('POST', pathOf(ko), { body: '{}', headers: { 'content-type': 'application/json' } });
  assert.equal(none.object['result'], 'a,b');
});

test('a string result is given in a declared type that Accept prefers', async () => {
  const ko = await served(TEXT, { produces: ['application/json', 'text/csv'] });
  for (const accept of ['text/csv', 'text/*', 'application/json;q=0.5, text/csv']) {
    const answer = await post(ko, '{}', { accept });
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^text\/csv(;|$)/, accept);
    assert.equal(answer.text, 'a,b');
  }
  const json = await post(ko, '{}', { accept: 'application/json, text/csv;q=0.5' });
  assert.equal(json.object['result'], 'a,b');
});

test('a declared range of types is acceptable in each type that Accept names', async () => {
  const ko = await served(TEXT, { produces: ['text/*'] });
  for (const accept of ['text/csv', 'application/json;q=0.1, Text/Plain']) {
    const answer = await post(ko, '{}', { accept });
    assert.equal(answer.text, 'a,b', accept);
    assert.match(String(answer.headers['content-type']), /^text\/(csv|plain)(;|$)/i, accept);
  }
  assert.equal((await post(ko, '{}', { accept: 'image/png' })).status, 406);
});

test('a page that code makes runs no script on the address of the service', async () => {
  const code = 'function run(input) { return "<p>" + input + "</p>"; }';
  const ko = await served(code, { consumes: ['text/plain'], produces: ['text/html', 'image/svg+xml'] });
  // What a browser sends for a form of another site.
  const headers = { 'content-type': 'text/plain', accept: 'text/html,application/xhtml+xml,application/xml;q=0.9' };
  const page = await service.send('POST', pathOf(ko), { headers, body: '<script>alert(1)</script>' });
  assert.match(String(page.headers['content-type']), /^text\/html/);
  const policy = String(page.headers['content-security-policy']);
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /(^|; ?)sandbox($|;)/);
  assert.doesNotMatch(policy, /script/);
});

test('a result that is not a string stays wrapped JSON', async () => {
  const ko = await served('function run() { return { a: 1 }; }', { produces: ['application/json', 'text/csv'] });
  const answer = await post(ko, '{}', { accept: 'text/csv' });
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  assert.deepEqual(answer.object['result'], { a: 1 });
});

test('the result alone is given in a declared type of JSON that Accept prefers, whatever it is', async () => {
  const fhir = 'application/fhir+json';
  const ko = await served('function run(input) { return input.give; }', { produces: ['application/json', fhir] });
  const { naan, name, version } = ko;
  const accepts = [
    fhir,
    `${fhir}; fhirVersion=4.0`,
    `${fhir};profile="minimal"`,
    `${fhir}, application/json;q=0.9, */*;q=0.1`,
  ];
  for (const give of [{ resourceType: 'Parameters', text: 'é' }, 'a "text"', [1], 1.5, null]) {
    for (const accept of accepts) {
      // By the fast path, by the router, and by its @id.
      for (const path of [pathOf(ko), `${pathOf(ko)}?x=1`, `/endpoints/${naan}/${name}/${version}/run`]) {
        const headers = { accept, 'content-type': 'application/json' };
        const answer = await service.send('POST', path, { body: JSON.stringify({ give }), headers });
        assert.equal(answer.headers['content-type'], fhir, `${path}, Accept: ${accept}: ${answer.text}`);
        assert.deepEqual(JSON.parse(answer.text), give);
      }
    }
  }
  for (const accept of ['application/json', '*/*', `${fhir};q=0.5, application/json`]) {
    const answer = await post(ko, '{"give":1}', { accept });
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.equal(answer.object['result'], 1);
  }
});

test('profile="minimal" gives only the result', async () => {
  const results = { '{ a: [1] }': '{"a":[1]}', '"text"': '"text"', undefined: 'null', '1.5': '1.5' };
  for (const [value, json] of Object.entries(results)) {
    const ko = await served(`function run() { return ${value}; }`);
    for (const accept of ['application/json;profile="minimal"', 'application/json; profile=minimal']) {
      const answer = await post(ko, '{}', { accept });
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers['content-type']), /^application\/json/);
      assert.equal(answer.text, json);
    }
  }
});

test('an endpoint that failed to activate is 404 for any method', async () => {
  const ko = await served('this is no code');
  for (const method of ['GET', 'POST', 'DELETE']) {
    const answer = await service.send(method, pathOf(ko), { headers: { 'content-type': 'application/json' } });
    assert.equal(answer.status, 404, method);
    assert.match(String(answer.object['Detail']), /failed to activate/, method);
  }
});

test('the order of checks is 405, 415, 406, body', async () => {
  const ko = await served(ECHO);
  const path = pathOf(ko);
  const all = { 'content-type': 'text/plain', accept: 'image/png' };
  assert.equal((await service.send('PUT', path, { headers: all, body: '{' })).status, 405);
  assert.equal((await post(ko, '{', all)).status, 415);
  assert.equal((await post(ko, '{', { accept: 'image/png' })).status, 406);
  assert.equal((await post(ko, '{')).status, 400);
});

test('GET on a code endpoint is 405 with Allow', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.serve(ko);
  for (const path of [pathOf(ko, 'welcome'), `/${ko.naan}/ko/welcome`]) {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await service.send(method, path);
      assertRequestError(answer, { status: 405, path, title: 'Method Not Allowed', detail: /./ });
      assert.match(String(answer.headers.allow), /\bPOST\b/);
      assert.doesNotMatch(String(answer.headers.allow), /\bGET\b/);
    }
  }
});

test('POST on a resource endpoint is 405 with Allow', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources: { 'a.txt': 'a' } });
  await service.serve(ko);
  const path = pathOf(ko, 'files');
  const answer = await service.post(path, {});
  assertRequestError(answer, { status: 405, path, title: 'Method Not Allowed', detail: /./ });
  assert.match(String(answer.headers.allow), /\bGET\b/);
});
