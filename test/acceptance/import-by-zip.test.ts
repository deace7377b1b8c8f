import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { upload } from './support/client.ts';
import { assertShelfError } from './support/expectations.ts';
import { uniqueNaan, welcomeKo, WELCOME, zipOf } from './support/ko.ts';
import type { Content, Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

async function assertRefused(ko: Ko, files: Readonly<Record<string, Content>>, error: RegExp): Promise<void> {
  const answer = await service.importZip(await zipOf(files));
  assertShelfError(answer, { status: 400, path: '/kos', error: /MultipartFile resource \[ko\]/ });
  assert.match(String(answer.object['Error']), error);
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 404, 'nothing came onto the shelf');
}

const without = (ko: Ko, path: string): Record<string, Content> =>
  Object.fromEntries(Object.entries(ko.files).filter(([name]) => name !== path));

test('an import answers 200 with Added and Location (S-KO-PACKAGE, S-SHELF-IMPORT)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  const answer = await service.importZip(await zipOf(ko.files));
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  assert.deepEqual(answer.json, { Added: `${ko.id}/` });
  assert.equal(answer.headers.location, `/kos/${ko.id}`);
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 200);
});

test('a package may lie in the single top folder of its zip', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  assert.equal((await service.importZip(await zipOf(ko.files, 'any-name/'))).status, 200);
  assert.equal((await service.get(`/kos/${ko.id}/src/index.js`)).text, WELCOME);
});

test('__MACOSX and .DS_Store in a zip are ignored', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  const inFolder = Object.fromEntries(Object.entries(ko.files).map(([path, content]) => [`top/${path}`, content]));
  const litter = { '__MACOSX/top/._metadata.json': 'x', '.DS_Store': 'x', 'top/.DS_Store': 'x' };
  const answer = await service.importZip(await zipOf({ ...litter, ...inFolder }));
  assert.equal(answer.status, 200, answer.text);
  assert.equal((await service.get(`/kos/${ko.id}/metadata.json`)).status, 200);
});

test('every file of a package is kept byte for byte (S-KO-PACKAGE)', async () => {
  const noise = randomBytes(100_000);
  const more = { 'docs/a page.html': '<p>ä €</p>', 'data/noise.bin': noise, empty: '', 'deep/er/and/deeper.txt': 'x' };
  const ko = welcomeKo({ naan: uniqueNaan(), files: more });
  await service.add(ko);
  for (const [path, content] of Object.entries(ko.files)) {
    const file = await service.get(`/kos/${ko.id}/${encodeURI(path)}`);
    assert.equal(file.status, 200, path);
    assert.deepEqual(file.bytes, Buffer.from(content), path);
  }
});

test('an import of the same id replaces the whole package', async () => {
  const naan = uniqueNaan();
  await service.add(welcomeKo({ naan, files: { 'old.txt': 'old' } }));
  const second = welcomeKo({ naan, files: { 'new.txt': 'new' }, metadata: { title: 'Second' } });
  await service.add(second);
  assert.equal((await service.get(`/kos/${second.id}`)).object['title'], 'Second');
  assert.equal((await service.get(`/kos/${second.id}/new.txt`)).text, 'new');
  assert.equal((await service.get(`/kos/${second.id}/old.txt`)).status, 404);
});

test('a failed import leaves the old package as it was', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await service.add(ko);
  const before = await service.get(`/kos/${ko.id}`);
  const damaged = { ...without(ko, 'deployment.yaml'), 'src/index.js': 'changed' };
  assert.equal((await service.importZip(await zipOf(damaged))).status, 400);
  const after = await service.get(`/kos/${ko.id}`);
  assert.equal(after.text, before.text);
  assert.equal(after.headers.etag, before.headers.etag);
  assert.equal((await service.get(`/kos/${ko.id}/src/index.js`)).text, WELCOME);
});

test('a multipart field of another name is refused (S-SHELF-IMPORT-400)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  const answer = await service.send('POST', '/kos', upload(await zipOf(ko.files), 'file'));
  assertShelfError(answer, { status: 400, path: '/kos', error: /MultipartFile resource \[ko\]/ });
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 404);
});

test('a multipart body without a file, without its end or without a boundary is 400', async () => {
  const whole = upload(await zipOf(welcomeKo({ naan: uniqueNaan() }).files));
  const type = 'multipart/form-data';
  const cases = {
    'no part': { headers: { 'content-type': `${type}; boundary=b` }, body: '--b--\r\n' },
    'cut in the file': { ...whole, body: whole.body.subarray(0, 400) },
    'cut in the head': { ...whole, body: whole.body.subarray(0, 60) },
    'no boundary parameter': { ...whole, headers: { 'content-type': type } },
    'another boundary': { ...whole, headers: { 'content-type': `${type}; boundary=other` } },
  };
  for (const [name, sent] of Object.entries(cases)) {
    const answer = await service.send('POST', '/kos', sent);
    assert.equal(answer.status, 400, `${name}: ${answer.text}`);
    assertShelfError(answer, { status: 400, path: '/kos', error: /MultipartFile resource \[ko\]/ });
  }
});

test('a form may have other fields, but one file', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  const { body, headers = {} } = upload(await zipOf(ko.files));
  const open = body.subarray(0, body.indexOf('\r\n') + 2);
  const note = Buffer.concat([open, Buffer.from('Content-Disposition: form-data; name="note"\r\n\r\nhello\r\n')]);
  const file = body.subarray(0, body.lastIndexOf('\r\n--') + 2);
  const twice = await service.send('POST', '/kos', { headers, body: Buffer.concat([file, body]) });
  assertShelfError(twice, { status: 400, path: '/kos', error: /MultipartFile resource \[ko\].*one/ });
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 404);
  const noted = await service.send('POST', '/kos', { headers, body: Buffer.concat([note, body]) });
  assert.equal(noted.status, 200, noted.text);
  await service.delete(`/kos/${ko.id}`);
});

test('a body that is not multipart is 415', async () => {
  const zip = await zipOf(welcomeKo({ naan: uniqueNaan() }).files);
  for (const headers of [{ 'content-type': 'application/zip' }, { 'content-type': 'application/json' }, {}]) {
    const answer = await service.send('POST', '/kos', { headers, body: zip });
    assertShelfError(answer, { status: 415, path: '/kos', error: /multipart\/form-data/ });
  }
});

test('what is not a zip is refused (S-SHELF-IMPORT-400)', async () => {
  const zip = await zipOf(welcomeKo({ naan: uniqueNaan() }).files);
  for (const bytes of [Buffer.from('this is no zip'), Buffer.alloc(0), zip.subarray(0, zip.length / 2)]) {
    const answer = await service.importZip(bytes);
    assertShelfError(answer, { status: 400, path: '/kos', error: /MultipartFile resource \[ko\].*zip/i });
  }
});

test('a package without readable metadata is refused and the file is named', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await assertRefused(ko, without(ko, 'metadata.json'), /metadata\.json/);
  for (const metadata of ['{"@id": ', '[]', '"text"', '', '{}', '{"@id": 5}']) {
    await assertRefused(ko, { ...ko.files, 'metadata.json': metadata }, /metadata\.json|@id/);
  }
});

test('a package without its descriptors is refused and the file is named', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await assertRefused(ko, without(ko, 'service.yaml'), /service\.yaml/);
  await assertRefused(ko, without(ko, 'deployment.yaml'), /deployment\.yaml/);
});

test('the place on the shelf comes from @id, which may end with a slash', async () => {
  const naan = uniqueNaan();
  const ko = welcomeKo({ naan, metadata: { '@id': `${naan}/ko/v1.0/` } });
  const answer = await service.importZip(await zipOf(ko.files));
  assert.deepEqual(answer.json, { Added: `${ko.id}/` });
  await service.reload(ko);
  assert.equal((await service.endpoints(naan))[0]?.['status'], 'ACTIVATED');
});

test('an identifier is ark: with or without a slash', async () => {
  const naan = uniqueNaan();
  const ko = welcomeKo({ naan, metadata: { identifier: `ark:${naan}/ko/v1.0` } });
  await service.serve(ko);
  assert.equal((await service.endpoints(naan))[0]?.['status'], 'ACTIVATED');
});

test('names of the service itself are refused as naan', async () => {
  for (const naan of ['kos', 'endpoints', 'actuator', 'proxy', 'doc', 'console']) {
    const ko = welcomeKo({ naan });
    await assertRefused(ko, ko.files, new RegExp(naan));
  }
});
