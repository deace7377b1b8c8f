import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { resourceKo, uniqueNaan, welcomeKo, WELCOME } from './support/ko.ts';
import type { Content, Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';
import { unzip } from './support/unzip.ts';

const service = await theService();

async function withFiles(files: Readonly<Record<string, Content>>): Promise<Ko> {
  const ko = welcomeKo({ naan: uniqueNaan(), files });
  await service.add(ko);
  return ko;
}

test('a file is given by its name or its path within the KO (S-SHELF-FILE)', async () => {
  const ko = await withFiles({ 'a/b/c.txt': 'deep', 'with space.txt': 'space', 'ü/ñ.txt': 'unicode' });
  const read = async (path: string): Promise<string> => (await service.get(`/kos/${ko.id}/${path}`)).text;
  assert.equal(await read('src/index.js'), WELCOME);
  assert.equal(await read('a/b/c.txt'), 'deep');
  assert.equal(await read('with%20space.txt'), 'space');
  assert.equal(await read('%C3%BC/%C3%B1.txt'), 'unicode');
});

test('names with a colon, and names that differ only in case, are files of their own (S-SHELF-FILE-404-TEXT)', async () => {
  const files = { 'index.html:Zone.Identifier': '[ZoneTransfer]', 'README.md': 'lower', 'README.MD': 'upper' };
  const ko = await withFiles(files);
  const exported = await unzip((await service.get(`/kos/${ko.id}`, { accept: 'application/zip' })).bytes);
  const contents = new Map(exported.map(({ path, bytes }) => [path.split('/').slice(1).join('/'), bytes.toString()]));
  for (const [path, text] of Object.entries(files)) {
    for (const spelling of [path, encodeURIComponent(path)])
      assert.equal((await service.get(`/kos/${ko.id}/${spelling}`)).text, text, spelling);
    const part = await service.get(`/kos/${ko.id}/${encodeURIComponent(path)}`, { range: 'bytes=1-3' });
    assert.deepEqual([part.status, part.text], [206, text.slice(1, 4)]);
    assert.equal(contents.get(path), text);
  }
});

test('the content type follows the extension', async () => {
  const types = {
    'a.js': 'text/javascript',
    'a.yaml': 'application/yaml',
    'a.json': 'application/json',
    'a.csv': 'text/csv',
    'a.html': 'text/html',
    'a.pdf': 'application/pdf',
    'a.png': 'image/png',
    'a.txt': 'text/plain',
    'a.unknown-extension': 'application/octet-stream',
    bare: 'application/octet-stream',
  };
  const ko = await withFiles(Object.fromEntries(Object.keys(types).map((path) => [path, 'content'])));
  for (const [path, type] of Object.entries(types)) {
    const answer = await service.get(`/kos/${ko.id}/${path}`, { accept: 'image/x-nothing' });
    assert.equal(answer.status, 200);
    assert.equal(String(answer.headers['content-type']).split(';')[0], type, path);
  }
});

test('a file is shown inline, never sniffed, and its scripts never run', async () => {
  const ko = await withFiles({ 'a.html': '<script>alert(1)</script>', 'a.svg': '<svg/>', 'a.pdf': '%PDF-1.4' });
  for (const path of ['a.html', 'a.svg', 'a.pdf', 'src/index.js', 'metadata.json']) {
    const { headers } = await service.get(`/kos/${ko.id}/${path}`);
    assert.match(String(headers['content-disposition']), /^inline(;|$)/, path);
    assert.equal(headers['x-content-type-options'], 'nosniff', path);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /sandbox|script-src 'none'|default-src 'none'/, path);
    assert.doesNotMatch(policy, /allow-scripts|unsafe-inline'?\s*;?\s*script-src/, path);
  }
  for (const path of ['a.html', 'a.svg']) {
    const { headers } = await service.get(`/kos/${ko.id}/${path}`);
    assert.match(String(headers['content-security-policy']), /sandbox/, 'an origin of its own');
  }
  const pdf = String((await service.get(`/kos/${ko.id}/a.pdf`)).headers['content-security-policy']);
  assert.doesNotMatch(pdf, /sandbox|object-src 'none'.*plugin/, 'a browser shows no PDF in a sandbox');
});

test('a file has an ETag and answers conditional GET', async () => {
  const ko = await withFiles({ 'a.txt': 'one' });
  const path = `/kos/${ko.id}/a.txt`;
  const etag = String((await service.get(path)).headers.etag);
  assert.match(etag, /^(W\/)?"[^"]+"$/);
  for (const condition of [etag, `"x", ${etag}`, '*']) {
    const answer = await service.get(path, { 'if-none-match': condition });
    assert.equal(answer.status, 304, condition);
    assert.equal(answer.bytes.length, 0);
    assert.equal(answer.headers.etag, etag);
  }
  assert.equal((await service.get(path, { 'if-none-match': '"other"' })).status, 200);
  await service.add(welcomeKo({ naan: ko.naan, files: { 'a.txt': 'two' } }));
  const changed = await service.get(path, { 'if-none-match': etag });
  assert.equal(changed.status, 200);
  assert.equal(changed.text, 'two');
});

test('HEAD of a file has the headers of GET and no body', async () => {
  const ko = await withFiles({ 'a.txt': '0123456789' });
  const path = `/kos/${ko.id}/a.txt`;
  const [get, head] = [await service.get(path), await service.send('HEAD', path)];
  assert.equal(head.status, 200);
  assert.equal(head.bytes.length, 0);
  assert.equal(head.headers['content-length'], '10');
  for (const name of ['etag', 'content-type', 'content-disposition', 'accept-ranges']) {
    assert.equal(head.headers[name], get.headers[name], name);
  }
  assert.equal((await service.send('HEAD', `/kos/${ko.id}/none.txt`)).status, 404);
});

test('a range gives that part of the file', async () => {
  const ko = await withFiles({ 'a.txt': '0123456789' });
  const path = `/kos/${ko.id}/a.txt`;
  assert.equal((await service.get(path)).headers['accept-ranges'], 'bytes');
  const cases = {
    'bytes=0-3': ['0123', '0-3'],
    'bytes=4-': ['456789', '4-9'],
    'bytes=-2': ['89', '8-9'],
    'bytes=8-99': ['89', '8-9'],
    'bytes=-99': ['0123456789', '0-9'],
  };
  for (const [range, [text, part]] of Object.entries(cases)) {
    const answer = await service.get(path, { range });
    assert.equal(answer.status, 206, range);
    assert.equal(answer.text, text);
    assert.equal(answer.headers['content-range'], `bytes ${part}/10`);
    assert.equal(answer.headers['content-length'], String(text?.length));
  }
});

test('a range beyond the file is 416', async () => {
  const ko = await withFiles({ 'a.txt': '0123456789' });
  const path = `/kos/${ko.id}/a.txt`;
  const answer = await service.get(path, { range: 'bytes=10-' });
  assertShelfError(answer, { status: 416, path, error: /./ });
  assert.equal(answer.headers['content-range'], 'bytes */10');
});

test('If-Range gives the part only of the same file', async () => {
  const ko = await withFiles({ 'a.txt': '0123456789' });
  const path = `/kos/${ko.id}/a.txt`;
  const etag = String((await service.get(path)).headers.etag);
  const range = 'bytes=0-1';
  assert.equal((await service.get(path, { range, 'if-range': etag })).text, '01');
  assert.equal((await service.get(path, { range, 'if-range': '"other"' })).text, '0123456789');
});

test('a missing file is 404 and the text names it (S-SHELF-FILE-404-TEXT)', async () => {
  const ko = await withFiles({});
  const path = `/kos/${ko.id}/src/none.js`;
  const error = `Binary resource not found shelf/${ko.id}/src/none.js`;
  assertShelfError(await service.get(path), { status: 404, path, error });
  const missing = `${uniqueNaan()}/ko/v1.0`;
  const other = `/kos/${missing}/src/none.js`;
  assertShelfError(await service.get(other), { status: 404, path: other, error: /not found/ });
});

test('a path that leaves the KO is 404', async () => {
  const ko = await withFiles({ 'a/b.txt': 'x' });
  const other = welcomeKo({ naan: ko.naan, version: 'v2.0' });
  await service.add(other);
  const escapes = [
    '../v2.0/metadata.json',
    'a/../../v2.0/metadata.json',
    '..%2Fv2.0%2Fmetadata.json',
    '%2e%2e/v2.0/metadata.json',
    '..%5Cv2.0%5Cmetadata.json',
    'a%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2Fetc%2Fpasswd',
    '../../../../../../../../../../etc/passwd',
    '%2Fetc%2Fpasswd',
    '/etc/passwd',
    'a/b.txt%00.js',
    './a/b.txt',
    'a//b.txt',
  ];
  for (const escape of escapes) {
    const answer = await service.get(`/kos/${ko.id}/${escape}`);
    assert.ok([404, 400].includes(answer.status), `${escape}: ${answer.status}`);
    if (escape !== 'a/b.txt%00.js') assert.equal(answer.status, 404, escape);
    assert.deepEqual(Object.keys(answer.object), ['Status', 'Request', 'Error', 'Time']);
    assert.ok(!answer.text.includes('root:'));
  }
});

test('a file whose name needs quoting has a safe Content-Disposition', async () => {
  const name = 'a "quoted"; name ü.txt';
  const ko = await withFiles({ [name]: 'x' });
  const answer = await service.get(`/kos/${ko.id}/${encodeURIComponent(name)}`);
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-disposition']), /^inline/);
});

test('files of a deleted KO stay readable as long as its endpoints are active', async () => {
  const naan = uniqueNaan();
  const ko = resourceKo({ naan, resources: { 'data/table.csv': 'a,b\n1,2\n' } });
  await service.serve(ko);
  const resource = `/${naan}/ko/1.0/files/data/table.csv`;
  assert.equal((await service.get(resource)).text, 'a,b\n1,2\n');
  assert.equal((await service.delete(`/kos/${ko.id}`)).status, 204);
  assert.equal((await service.get(resource)).text, 'a,b\n1,2\n');
  assert.equal((await service.get('/actuator/activation/refresh')).status, 303);
  assert.equal((await service.get(resource)).status, 404);
});
