/** Every answer says which content gave it, in a way that anybody can compute again. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { PROJECT, startService, temporaryFolder } from './support/service.ts';
import { unzip } from './support/unzip.ts';
import { theOwnService } from './support/the-service.ts';

const service = await theOwnService();

const HEADER = 'kgrid-package-digest';
const JSON_TYPE = { 'content-type': 'application/json' };
const CODE = `function run(input) { if (input === 'throw') throw new Error('of the code'); return input; }`;
const PAGE = { origin: 'https://page.example' };

/** What docs/interface.md tells people to type, run in a folder with the files of a package. */
async function computed(files: readonly { readonly path: string; readonly bytes: Buffer }[]): Promise<string> {
  const [command] = /^find \. -type f .*$/m.exec(readFileSync(join(PROJECT, 'docs/interface.md'), 'utf8')) ?? [];
  assert.ok(command);
  await using folder = await temporaryFolder();
  for (const { path, bytes } of files) {
    await mkdir(dirname(resolve(folder.path, path)), { recursive: true });
    await writeFile(resolve(folder.path, path), bytes);
  }
  const printed = execFileSync('sh', ['-c', command], { cwd: folder.path, encoding: 'utf8' });
  return `sha256:${printed.slice(0, 64)}`;
}

const filesOf = (ko: Ko) => Object.entries(ko.files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));

test('coreutils compute the digest that metadata, zip, calls and failed calls carry', async () => {
  const odd = { 'src/a.js': '', 'src.js': '', '-': 'x', '-n': 'y', 'a b/Größe.txt': 'Ω', '🧬.txt': '', 'ﬀ.txt': '' };
  const ko = javascriptKo(CODE, { naan: uniqueNaan(), files: odd });
  await service.serve(ko);
  const digest = await computed(filesOf(ko));
  const zip = await service.get(`/kos/${ko.id}?format=zip`);
  const top = `${ko.naan}-ko-v1.0/`;
  const entries = (await unzip(zip.bytes)).filter(({ path }) => !path.endsWith('/'));
  assert.equal(await computed(entries.map((each) => ({ ...each, path: each.path.replace(top, '') }))), digest);
  const answers = {
    metadata: await service.get(`/kos/${ko.id}`),
    'metadata by the router': await service.get(`/kos/${ko.id}`, { 'if-none-match': '"x"' }),
    'metadata that are known': await service.get(`/kos/${ko.id}`, { 'if-none-match': '*' }),
    'metadata of the newest': await service.get(`/kos/${ko.naan}/ko`),
    'metadata put again': await service.put(`/kos/${ko.id}`, ko.files['metadata.json']),
    zip,
    head: await service.send('HEAD', `/kos/${ko.id}`),
    call: await service.send('POST', pathOf(ko), { body: '1', headers: JSON_TYPE }),
    'a call of a page': await service.send('POST', pathOf(ko), { body: '1', headers: { ...JSON_TYPE, ...PAGE } }),
    'a call by the router': await service.send('POST', `${pathOf(ko)}/`, { body: '1', headers: JSON_TYPE }),
    'code that throws': await service.send('POST', pathOf(ko), { body: '"throw"', headers: JSON_TYPE }),
    'code that throws, by the router': await service.send('POST', `${pathOf(ko)}/`, {
      body: '"throw"',
      headers: JSON_TYPE,
    }),
    'a type that it does not take': await service.send('POST', pathOf(ko), {
      body: '1',
      headers: { 'content-type': 'a/b' },
    }),
    'the same by the router': await service.send('POST', `${pathOf(ko)}/`, {
      body: '1',
      headers: { 'content-type': 'a/b' },
    }),
  };
  for (const [what, { headers }] of Object.entries(answers)) assert.equal(headers[HEADER], digest, what);
  assert.match(String(answers['a call of a page'].headers['access-control-expose-headers']), /KGrid-Package-Digest/);
  const { digest: audited } = await service.logged(({ action }) => action === 'import');
  assert.equal(`sha256:${String(audited)}`, digest);
});

test('lists and files of a resource carry it too', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), resources: { 'a/table.csv': 'x' } });
  await service.serve(ko);
  const digest = await computed(filesOf(ko));
  for (const path of ['', '/a/table.csv', '/table.csv']) {
    const answer = await service.get(`${pathOf(ko, 'files')}${path}`);
    assert.deepEqual([answer.status, answer.headers[HEADER]], [200, digest], path);
  }
});

test('calls carry the digest of what is active, the shelf that of what is there', async () => {
  const before = javascriptKo(CODE, { naan: uniqueNaan() });
  const after: Ko = { ...before, files: { ...before.files, 'more.txt': 'more' } };
  await service.serve(before);
  await service.importZip(await zipOf(after.files));
  const digests = async () => [
    (await service.get(`/kos/${before.id}`)).headers[HEADER],
    (await service.send('POST', pathOf(before), { body: '1', headers: JSON_TYPE })).headers[HEADER],
  ];
  const [old, now] = [await computed(filesOf(before)), await computed(filesOf(after))];
  assert.notEqual(old, now);
  assert.deepEqual(await digests(), [now, old]);
  await service.get(`/actuator/activation/reload/${before.id}`);
  assert.deepEqual(await digests(), [now, now]);
});

test('the audit says which content a reload or refresh made active', async () => {
  await using service = await startService();
  const naan = uniqueNaan();
  const before = javascriptKo(CODE, { naan });
  const after: Ko = { ...before, files: { ...before.files, 'more.txt': 'more' } };
  const other = javascriptKo(CODE, { naan, version: 'v2.0', apiVersion: '2.0' });
  const [old, now, second] = await Promise.all([before, after, other].map((ko) => computed(filesOf(ko))));
  const audited = async (path: string): Promise<unknown[]> => {
    assert.equal((await service.get(`/actuator/activation/${path}`)).status, 303);
    const [{ action, digest, digests } = {}] = (await service.get('/actuator/audit?limit=1')).list;
    return [action, typeof digest === 'string' ? `sha256:${digest}` : undefined, digests];
  };
  const hex = (digest = ''): string => digest.replace('sha256:', '');
  await service.add(before);
  assert.deepEqual(await audited(`reload/${before.id}`), ['reload', old, undefined]);
  await service.importZip(await zipOf(after.files));
  assert.deepEqual(await audited(`refresh/${before.id}`), ['refresh', old, undefined], 'what was loaded');
  assert.deepEqual(await audited('refresh'), ['refresh', undefined, undefined], 'the same as before');
  assert.deepEqual(await audited('reload'), ['reload', undefined, `${before.id} ${hex(now)}`]);
  await service.add(other);
  const both = `${before.id} ${hex(now)}, ${other.id} ${hex(second)}`;
  assert.deepEqual(await audited(`reload/${naan}/ko`), ['reload', undefined, both]);
  await service.delete(`/kos/${before.id}`);
  assert.deepEqual(await audited(`reload/${before.id}`), ['reload', undefined, undefined], 'nothing is active');
  await service.put(`/kos/${other.id}`, { ...other.metadata, title: 'Another' });
  const digest = (await service.get(`/kos/${other.id}`)).headers[HEADER];
  assert.notEqual(digest, second);
  assert.deepEqual(await audited(`reload/${other.id}`), ['reload', digest, undefined]);
  const call = await service.send('POST', pathOf(other), { body: '1', headers: JSON_TYPE });
  assert.equal(call.headers[HEADER], digest);
});
