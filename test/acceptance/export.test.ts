import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { theService } from './support/the-service.ts';
import { unzip } from './support/unzip.ts';

const service = await theService();
const ZIP = { accept: 'application/zip' };

test('Accept: application/zip gives the package as a download (S-SHELF-EXPORT-PATH)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const answer = await service.get(`/kos/${ko.id}`, ZIP);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['content-type'], 'application/zip');
  assert.equal(answer.headers['content-disposition'], `attachment; filename="${ko.naan}-ko-v1.0.zip"`);
  assert.match(String(answer.headers.etag), /^(W\/)?"[^"]+"$/);
  assert.ok((await unzip(answer.bytes)).length > 0);
});

test('?format=zip is the same for links', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const byHeader = await service.get(`/kos/${ko.id}`, ZIP);
  for (const path of [`/kos/${ko.id}?format=zip`, `/kos/${ko.naan}/ko?v=v1.0&format=zip`]) {
    const byQuery = await service.get(path, { accept: 'text/html,*/*;q=0.8' });
    assert.equal(byQuery.status, 200);
    assert.deepEqual(byQuery.bytes, byHeader.bytes);
    assert.equal(byQuery.headers['content-disposition'], byHeader.headers['content-disposition']);
  }
});

test('the zip holds every file under one top folder, byte for byte, sorted, at one fixed time', async () => {
  const binary = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 256));
  const more = { 'z.bin': binary, 'a/b.txt': 'b', 'ä.txt': 'ä', 'B.txt': '', 'docs/readme.md': '# hello' };
  const ko = welcomeKo({ naan: uniqueNaan(), files: more });
  await service.add(ko);
  const entries = await unzip((await service.get(`/kos/${ko.id}`, ZIP)).bytes);
  const files = entries.filter((entry) => !entry.path.endsWith('/'));
  const top = `${ko.naan}-ko-v1.0/`;
  const paths = files.map((entry) => entry.path);
  assert.deepEqual(
    [...paths].sort(),
    Object.keys(ko.files)
      .map((path) => top + path)
      .sort(),
  );
  assert.deepEqual(paths, [...paths].sort());
  for (const entry of files) {
    const original = ko.files[entry.path.slice(top.length)] ?? '';
    assert.deepEqual(entry.bytes, Buffer.from(original), entry.path);
  }
  assert.equal(new Set(entries.map((entry) => entry.time.getTime())).size, 1);
});

test('an export has metadata.json as the shelf now has it', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const before = await service.get(`/kos/${ko.id}`, ZIP);
  const text = '{"title":"As put","n":1.10}';
  await service.put(`/kos/${ko.id}`, text);
  const after = await service.get(`/kos/${ko.id}`, ZIP);
  const metadata = (await unzip(after.bytes)).find((entry) => entry.path.endsWith('/metadata.json'));
  assert.equal(metadata?.bytes.toString().replaceAll(/\s/g, ''), text.replaceAll(/\s/g, ''));
  assert.notEqual(after.headers.etag, before.headers.etag);
});

test('an export can be imported again', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const { bytes } = await service.get(`/kos/${ko.id}`, ZIP);
  await service.delete(`/kos/${ko.id}`);
  assert.equal((await service.importZip(bytes)).status, 200);
  assert.deepEqual((await service.get(`/kos/${ko.id}`)).json, ko.metadata);
});

test('by query, the version is v, or the newest by natural order (S-SHELF-EXPORT-QUERY)', async () => {
  const naan = uniqueNaan();
  const kos = ['v2.0', 'v10.0', 'v1.0'].map((version) => welcomeKo({ naan, version }));
  await service.add(...kos);
  const disposition = async (query: string): Promise<unknown> =>
    (await service.get(`/kos/${naan}/ko${query}`, ZIP)).headers['content-disposition'];
  assert.equal(await disposition('?v=v2.0'), `attachment; filename="${naan}-ko-v2.0.zip"`);
  assert.equal(await disposition(''), `attachment; filename="${naan}-ko-v10.0.zip"`);
});

test('the zip of a missing KO is 404 by path (S-SHELF-EXPORT-PATH)', async () => {
  const id = `${uniqueNaan()}/ko/v1.0`;
  const answer = await service.get(`/kos/${id}`, ZIP);
  const error = `Object location not found for ark id ark:/${id}`;
  assertShelfError(answer, { status: 404, path: `/kos/${id}`, error });
});

test('the zip of a missing KO is 500 by query (S-SHELF-EXPORT-QUERY)', async () => {
  const naan = uniqueNaan();
  const path = `/kos/${naan}/ko`;
  for (const query of ['?v=v1.0', '?v=v1.0&format=zip']) {
    const answer = await service.get(path + query, ZIP);
    assertShelfError(answer, { status: 500, path, error: /./ });
  }
  await service.add(welcomeKo({ naan, version: 'v2.0' }));
  assertShelfError(await service.get(`${path}?v=v1.0`, ZIP), { status: 500, path, error: /./ });
});

test('the zip of a KO of which no version is there is 404 without a version', async () => {
  const path = `/kos/${uniqueNaan()}/ko`;
  assertShelfError(await service.get(path, ZIP), { status: 404, path, error: /^Object location not found/ });
});

test('metadata and zip have different ETags, of which If-Match takes either', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const path = `/kos/${ko.id}`;
  const tagOf = async (headers: Record<string, string>) => String((await service.get(path, headers)).headers.etag);
  const [metadata, zip] = [await tagOf({}), await tagOf(ZIP)];
  assert.notEqual(metadata, zip);
  assert.equal((await service.get(path, { ...ZIP, 'if-none-match': zip })).status, 304);
  assert.equal((await service.get(path, { ...ZIP, 'if-none-match': metadata })).status, 200);
  assert.equal((await service.get(path, { 'if-none-match': zip })).status, 200);
  const headers = { 'content-type': 'application/json', 'if-match': zip };
  const put = await service.send('PUT', path, { headers, body: JSON.stringify(ko.metadata) });
  assert.equal(put.status, 200, put.text);
});
