import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRequestError } from './support/expectations.ts';
import { resourceKo, uniqueNaan } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const resources = {
  'data/table.csv': 'a,b\n1,2\n',
  'data/deep/picture.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'readme.md': '# hello',
};

test('a resource endpoint lists the artifacts as deployed', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources });
  await service.serve(ko);
  for (const path of ['1.0/files', 'files?v=1.0', 'files', 'v1.0/files']) {
    const answer = await service.get(`/${ko.naan}/ko/${path}`);
    assert.equal(answer.status, 200, path);
    assert.deepEqual(answer.json, { result: Object.keys(resources), info: { ko: ko.metadata, inputs: '' } });
    assert.equal(answer.headers['content-location'], `/${ko.naan}/ko/1.0/files`);
  }
});

test('a single artifact is listed too', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources: { 'data/one.txt': 'one' }, artifact: 'data/one.txt' });
  await service.serve(ko);
  assert.deepEqual((await service.get(`/${ko.naan}/ko/1.0/files`)).object['result'], ['data/one.txt']);
});

test('a path below the endpoint gives the file itself, whatever the Accept', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources });
  await service.serve(ko);
  for (const accept of ['*/*', 'application/json', 'image/png']) {
    const answer = await service.get(`/${ko.naan}/ko/1.0/files/data/table.csv`, { accept });
    assert.equal(answer.status, 200);
    assert.match(String(answer.headers['content-type']), /^text\/csv(;|$)/);
    assert.equal(answer.text, resources['data/table.csv']);
  }
  const svg = await service.get(`/${ko.naan}/ko/1.0/files/data/deep/picture.svg`);
  assert.equal(svg.headers['x-content-type-options'], 'nosniff');
  assert.ok(svg.headers['content-security-policy'] !== undefined);
});

test('the leading folders of an artifact may be left out where that is unambiguous', async () => {
  const more = { ...resources, 'one/same.txt': '1', 'two/same.txt': '2' };
  const ko = resourceKo({ naan: uniqueNaan(), resources: more });
  await service.serve(ko);
  const get = (path: string) => service.get(`/${ko.naan}/ko/1.0/files/${path}`);
  assert.equal((await get('table.csv')).text, resources['data/table.csv']);
  assert.equal((await get('deep/picture.svg')).text, resources['data/deep/picture.svg']);
  assert.equal((await get('picture.svg')).text, resources['data/deep/picture.svg']);
  assert.equal((await get('same.txt')).status, 404);
  assert.equal((await get('two/same.txt')).text, '2');
});

test('files that are not among the artifacts are 404', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources, artifact: ['readme.md'] });
  await service.serve(ko);
  for (const file of ['data/table.csv', 'metadata.json', 'none.txt', '..%2Fmetadata.json', 'data']) {
    const path = `/${ko.naan}/ko/1.0/files/${file}`;
    const answer = await service.get(path);
    assert.equal(answer.status, 404, file);
    assertRequestError(answer, { status: 404, path, title: String(answer.object['Title']), detail: /./ });
  }
});

test('files of a resource are read by range, condition and HEAD', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources });
  await service.serve(ko);
  const path = `/${ko.naan}/ko/1.0/files/data/table.csv`;
  const whole = await service.get(path);
  const part = await service.get(path, { range: 'bytes=0-2' });
  assert.deepEqual([part.status, part.text], [206, 'a,b']);
  assert.equal((await service.get(path, { 'if-none-match': String(whole.headers.etag) })).status, 304);
  const head = await service.send('HEAD', path);
  assert.deepEqual([head.status, head.headers['content-length'], head.bytes.length], [200, '8', 0]);
});

test('HEAD follows GET on a resource endpoint', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources });
  await service.serve(ko);
  const head = await service.send('HEAD', `/${ko.naan}/ko/1.0/files`);
  assert.equal(head.status, 200);
  assert.match(String(head.headers['content-type']), /^application\/json/);
  assert.equal(head.bytes.length, 0);
});

test('a resource gives what was loaded until it is reloaded', async () => {
  const naan = uniqueNaan();
  const first = resourceKo({ naan, resources: { 'a.txt': 'first' } });
  await service.serve(first);
  const path = `/${naan}/ko/1.0/files/a.txt`;
  const second = resourceKo({ naan, resources: { 'a.txt': 'second' } });
  await service.add(second);
  assert.equal((await service.get(path)).text, 'first');
  assert.equal((await service.get(`/kos/${second.id}/a.txt`)).text, 'second');
  await service.reload(second);
  assert.equal((await service.get(path)).text, 'second');
});

test('a resource is listed as an endpoint of its engine', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources });
  await service.serve(ko);
  const endpoint = (await service.get(`/endpoints/${ko.naan}/ko/1.0/files`)).object;
  assert.equal(endpoint['engine'], 'resource');
  assert.equal(endpoint['status'], 'ACTIVATED');
});
