import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { assertShelfError } from './support/expectations.ts';
import { uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { temporaryFolder } from './support/service.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const added = (...kos: Ko[]): string[] => kos.map((ko) => `${ko.id}/`);
const someKos = (count: number, naan = uniqueNaan()): Ko[] =>
  Array.from({ length: count }, (_, i) => welcomeKo({ naan, name: `ko${i}` }));
const zipped = (ko: Ko): Promise<Buffer> => zipOf(ko.files);

async function assertOnShelf(...kos: Ko[]): Promise<void> {
  for (const ko of kos) assert.equal((await service.get(`/kos/${ko.id}`)).status, 200, ko.id);
}

test('a manifest imports from files of the host (S-SHELF-MANIFEST)', async () => {
  await using folder = await temporaryFolder();
  const [one, two] = someKos(2) as [Ko, Ko];
  const places = [one, two].map((ko) => join(folder.path, `${ko.name} with space.zip`));
  for (const [i, ko] of [one, two].entries()) await writeFile(places[i] ?? '', await zipped(ko));
  const answer = await service.post('/kos/manifest', { manifest: places.map((place) => pathToFileURL(place).href) });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json, added(one, two));
  await assertOnShelf(one, two);
});

test('a manifest imports from web addresses, be they files or answers (S-SHELF-MANIFEST)', async () => {
  const [one, two] = someKos(2) as [Ko, Ko];
  const [first, second] = [await zipped(one), await zipped(two)];
  const accepts: unknown[] = [];
  await using web = await servePlaces({
    '/ko.zip': first,
    [`/kos/${two.id}`]: (request, response) => {
      accepts.push(request.headers.accept);
      response.writeHead(200, { 'content-type': 'application/zip' }).end(second);
    },
  });
  const answer = await service.post('/kos/manifest', { manifest: [`${web.url}/ko.zip`, `${web.url}/kos/${two.id}`] });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json, added(one, two));
  assert.deepEqual(accepts, ['application/zip, */*;q=0.1']);
  await assertOnShelf(one, two);
});

test('entries may be objects with url or @id, and the list may be bare', async () => {
  const kos = someKos(3) as [Ko, Ko, Ko];
  const zips = await Promise.all(kos.map(zipped));
  await using web = await servePlaces(Object.fromEntries(zips.map((zip, i) => [`/${i}.zip`, zip])));
  const entries = [`${web.url}/0.zip`, { '@id': `${web.url}/1.zip` }, { url: `${web.url}/2.zip`, '@id': 'ignored' }];
  for (const body of [{ manifest: entries }, entries]) {
    const answer = await service.post('/kos/manifest', body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json, added(...kos));
  }
});

test('the answer keeps the order of the manifest, failures are skipped', async () => {
  const kos = someKos(4);
  const zips = await Promise.all(kos.map(zipped));
  await using web = await servePlaces({
    ...Object.fromEntries(zips.slice(1).map((zip, i) => [`/${i + 1}.zip`, zip])),
    '/0.zip': (_, response) => setTimeout(() => response.end(zips[0]), 300),
    '/bad.zip': Buffer.from('no zip'),
  });
  const names = ['0.zip', 'none.zip', '1.zip', 'bad.zip', '2.zip', '3.zip'];
  const manifest = [...names.map((name) => `${web.url}/${name}`), 'nonsense', 'file:///no/such/file.zip', 5, null, {}];
  const answer = await service.post('/kos/manifest', { manifest });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json, added(...kos));
});

test('a manifest of which nothing can be loaded is 400 with an empty array (S-SHELF-MANIFEST-EMPTY)', async () => {
  await using web = await servePlaces({ '/bad.zip': Buffer.from('no zip') });
  const bodies = [
    { manifest: [`${web.url}/none.zip`, `${web.url}/bad.zip`] },
    { manifest: ['file:///no/such/file.zip'] },
    { manifest: [] },
    [],
    {},
    { manifest: 'text' },
    { other: [] },
  ];
  for (const path of ['/kos/manifest', '/kos/manifest-list']) {
    for (const body of bodies) {
      const answer = await service.post(path, body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.deepEqual(answer.json, [], JSON.stringify(body));
    }
  }
});

test('a manifest that is not JSON is 400 as a shelf error', async () => {
  for (const path of ['/kos/manifest', '/kos/manifest-list']) {
    for (const body of ['{"manifest": [', 'text', '']) {
      assertShelfError(await service.post(path, body), { status: 400, path, error: /./ });
    }
  }
});

test('a manifest of another media type is 415', async () => {
  for (const path of ['/kos/manifest', '/kos/manifest-list']) {
    const answer = await service.send('POST', path, { headers: { 'content-type': 'text/csv' }, body: 'a,b' });
    assertShelfError(answer, { status: 415, path, error: /application\/json/ });
  }
});

test('relative entries of a posted manifest fail by themselves', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await using web = await servePlaces({ '/ko.zip': await zipped(ko) });
  const answer = await service.post('/kos/manifest', {
    manifest: ['ko.zip', './ko.zip', '/ko.zip', `${web.url}/ko.zip`],
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, added(ko));
});

test('a manifest list imports from manifests on the web and in files (S-SHELF-MANIFEST-LIST)', async () => {
  await using folder = await temporaryFolder();
  const kos = someKos(4) as [Ko, Ko, Ko, Ko];
  const zips = await Promise.all(kos.map(zipped));
  await using web = await servePlaces({
    '/deep/manifest.json': JSON.stringify({ manifest: ['one.zip', '/two.zip', '../deep/../three.zip'] }),
    '/deep/one.zip': zips[0] ?? '',
    '/two.zip': zips[1] ?? '',
    '/three.zip': zips[2] ?? '',
  });
  await writeFile(join(folder.path, 'four.zip'), zips[3] ?? '');
  await writeFile(join(folder.path, 'manifest.json'), JSON.stringify({ manifest: ['four.zip'] }));
  const file = pathToFileURL(join(folder.path, 'manifest.json')).href;
  const answer = await service.post('/kos/manifest-list', [
    `${web.url}/deep/manifest.json`,
    file,
    `${web.url}/none.json`,
  ]);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json, added(...kos));
  await assertOnShelf(...kos);
});

test('the /kos listing of another activator is itself a manifest', async () => {
  const naan = uniqueNaan();
  const kos = [welcomeKo({ naan, name: 'one' }), welcomeKo({ naan, name: 'two' })];
  const zips = await Promise.all(kos.map(zipped));
  for (const listing of ['/base/kos', '/base/kos/']) {
    await using web = await servePlaces({
      [listing]: JSON.stringify([kos[0]?.metadata, { ...kos[1]?.metadata, '@id': `${naan}/two/v1.0/` }]),
      ...Object.fromEntries(kos.map((ko, i) => [`/base/kos/${ko.id}`, zips[i] ?? ''])),
    });
    const answer = await service.post('/kos/manifest-list', [web.url + listing]);
    assert.equal(answer.status, 200, `${answer.text} ${web.asked.join(', ')}`);
    assert.deepEqual(answer.json, added(...kos));
    for (const ko of kos) await service.delete(`/kos/${ko.id}`);
  }
});

test('import by manifest alone activates nothing (S-STATE-IMPORTED)', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  await using web = await servePlaces({ '/ko.zip': await zipped(ko) });
  assert.equal((await service.post('/kos/manifest', { manifest: [`${web.url}/ko.zip`] })).status, 200);
  assert.deepEqual(await service.endpoints(ko.naan), []);
});
