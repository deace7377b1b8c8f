import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildTar, buildTarGz, tarEntriesOf } from '../archives/tar-builder.ts';
import { assertShelfError } from './support/expectations.ts';
import { uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const filesOf = (ko: Ko): Record<string, Buffer> =>
  Object.fromEntries(Object.entries(ko.files).map(([path, content]) => [path, Buffer.from(content)]));
const tarOf = (ko: Ko): Buffer => buildTarGz(tarEntriesOf(filesOf(ko), 'any-name/'));

test('a .tar.gz is imported as a zip of the same files is, whatever its name', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  assert.equal((await service.importZip(await zipOf(ko.files))).status, 200);
  const before = (await service.get(`/kos/${ko.id}`)).headers['kgrid-package-digest'];
  assert.equal((await service.delete(`/kos/${ko.id}`)).status, 204);
  const answer = await service.importZip(tarOf(ko));
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json, { Added: `${ko.id}/` });
  assert.equal((await service.get(`/kos/${ko.id}`)).headers['kgrid-package-digest'], before);
});

test('an entry of a manifest may be a .tar.gz, also one that was unpacked on its way', async () => {
  const [one, two] = [1, 2].map(() => welcomeKo({ naan: uniqueNaan() })) as [Ko, Ko];
  await using web = await servePlaces({
    '/one.tar.gz': tarOf(one),
    '/two': (_, response) => response.end(buildTar(tarEntriesOf(filesOf(two)))),
  });
  const answer = await service.post('/kos/manifest', [`${web.url}/one.tar.gz`, `${web.url}/two`]);
  assert.deepEqual(answer.json, [`${one.id}/`, `${two.id}/`]);
});

test('what must not come in by a zip does not come in by a .tar.gz', async () => {
  const ko = welcomeKo({ naan: uniqueNaan() });
  const honest = tarEntriesOf(filesOf(ko));
  const refused: [Buffer, RegExp][] = [
    [buildTarGz([...honest, { name: '../evil' }]), /\.\./],
    [buildTarGz([...honest, { name: 'link', type: '2', link: '/etc/passwd' }]), /symbolic link/],
    [buildTarGz([...honest, { name: 'metadata.json' }]), /twice/],
    [buildTarGz([...honest, { name: 'huge', size: 8 * 2 ** 30 - 1 }]), /may have 100 MB/],
    [Buffer.concat([tarOf(ko), tarOf(ko)]), /behind its gzip data/],
    [tarOf(ko).subarray(0, -9), /cut off|damaged/],
  ];
  for (const [tar, error] of refused) {
    const answer = await service.importZip(tar);
    assertShelfError(answer, { status: 400, path: '/kos', error: /MultipartFile resource \[ko\]/ });
    assert.match(String(answer.object['Error']), error);
    assert.equal((await service.get(`/kos/${ko.id}`)).status, 404);
  }
});
