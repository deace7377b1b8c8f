import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { uniqueNaan, welcomeKo, zipOf } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { BMI, deployment, secondClient, secondKo, uniqueWord } from './support/second-generation.ts';
import type { Files } from './support/second-generation.ts';
import { startService, temporaryFolder } from './support/service.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

const bmiKo = (atId: string, more: Readonly<Record<string, unknown>> = {}): Files =>
  secondKo({ atId, metadata: more, files: { 'bmi.js': BMI, 'deployment.yaml': deployment() } });
const metadataOf = (files: Files): Record<string, unknown> =>
  JSON.parse(String(files['metadata.json'])) as Record<string, unknown>;
const placeOf = (word: string, version = 'v1.0'): string =>
  `kgrid/${word.replaceAll(/[^A-Za-z0-9]+/g, '.')}/${version}/`;
const PROBLEMS = { accept: 'application/problem+json' };

async function write(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

test('an entry has @id and url; a knowledge set names its members, with a prefix or without, posted and listed', async () => {
  const words = [uniqueWord(), uniqueWord(), uniqueWord()] as const;
  const zips = await Promise.all(words.map((word) => zipOf(bmiKo(word), 'any/')));
  const member = (i: number): object => ({ '@id': `${i}.zip`, '@type': 'koio:KnowledgeObject' });
  await using web = await servePlaces({
    ...Object.fromEntries(zips.map((zip, i) => [`/${i}.zip`, zip])),
    '/set.json': JSON.stringify({ '@type': ['koio:KnowledgeSet'], 'koio:hasKnowledgeObject': [member(0), member(1)] }),
    '/one.json': JSON.stringify({ '@type': 'KnowledgeSet', hasKnowledgeObject: member(2) }),
  });
  const added = words.map((word) => placeOf(word));
  const urls = words.map((_, i) => `${web.url}/${i}.zip`);
  const entries = await service.post(
    '/kos/manifest',
    words.map((word, i) => ({ '@id': word, '@type': 'koio:KnowledgeObject', url: urls[i] })),
  );
  assert.deepEqual(entries.json, added);
  for (const term of ['koio:hasKnowledgeObject', 'hasKnowledgeObject', 'https://kgrid.org/koio#hasKnowledgeObject']) {
    const set = { '@type': 'koio:KnowledgeSet', [term]: urls.map((url) => ({ '@id': url })) };
    assert.deepEqual((await service.post('/kos/manifest', set)).json, added, term);
  }
  const listed = await service.post('/kos/manifest-list', [`${web.url}/set.json`, `${web.url}/one.json`]);
  assert.deepEqual(listed.json, added);
});

test('the /kos of another activator is a manifest, whatever its knowledge objects are called', async () => {
  await using other = await startService();
  const from = secondClient(other);
  const [word, twice, url, three] = [uniqueWord(), uniqueWord(), `https://example.org/${uniqueWord()}`, uniqueNaan()];
  const kos = [
    bmiKo(word),
    bmiKo(twice, { 'dc:version': 'v1.0' }),
    bmiKo(twice, { 'dc:version': 'v2.0' }),
    bmiKo(url),
    bmiKo(`_:${word}x`),
  ];
  for (const each of kos) await from.serve(each);
  await other.add(welcomeKo({ naan: three, name: 'first' }));
  const listed = (await other.get('/kos')).list.length;
  for (const address of [`${other.url}/kos`, `${other.url}/kos/`]) {
    const answer = await service.post('/kos/manifest-list', [address]);
    assert.equal(answer.headers['kgrid-manifest-errors'], '0', answer.text);
    const added = answer.json as string[];
    assert.equal(new Set(added).size, listed);
    for (const place of [placeOf(word), placeOf(twice), placeOf(twice, 'v2.0'), `${three}/first/v1.0/`])
      assert.ok(added.includes(place), `${place} in ${answer.text}`);
  }
  const mine = await service.get(`/kos/${encodeURIComponent(url)}`);
  assert.equal(mine.text, (await other.get(`/kos/${encodeURIComponent(url)}`)).text);
  await using third = await startService({ args: ['--manifest', `${other.url}/kos`] });
  assert.equal((await third.post(`/endpoints/${word}/bmi`, { weight: 70, height: 1.75 })).object['result'], 22.9);
});

test('local_manifest.json names folders and archives beside it, and nothing elsewhere', async () => {
  await using folder = await temporaryFolder();
  const [inFolder, inArchive, outside] = [uniqueWord(), uniqueWord(), uniqueWord()];
  const root = join(folder.path, 'collection');
  await write(join(root, 'a folder'), bmiKo(inFolder));
  await write(join(root, 'a folder', '.git'), { config: 'x' });
  await write(join(folder.path, 'outside'), bmiKo(outside));
  await writeFile(join(folder.path, 'outside.zip'), await zipOf(bmiKo(outside)));
  await writeFile(join(root, 'b.zip'), await zipOf(bmiKo(inArchive)));
  await symlink('../outside', join(root, 'linked'));
  await symlink('../outside.zip', join(root, 'linked.zip'));
  await write(join(root, 'with-link'), bmiKo(outside));
  await symlink('/etc/passwd', join(root, 'with-link', 'passwd'));
  const whole = (word: string, local: string): object => ({ ...metadataOf(bmiKo(word)), local_url: local });
  const bad = [
    ['../outside', /leaves the folder of its manifest/],
    ['../outside.zip', /leaves the folder of its manifest/],
    ['x/../../outside', /leaves the folder of its manifest/],
    ['%2e%2e/outside', /leaves the folder of its manifest/],
    ['..\\outside', /leaves the folder of its manifest/],
    ['..%2Foutside', /leaves the folder of its manifest/],
    ['/etc', /leaves the folder of its manifest/],
    ['file:///etc/passwd', /leaves the folder of its manifest/],
    ['http://127.0.0.1:9/x.zip', /leaves the folder of its manifest/],
    ['linked', /leaves the folder of its manifest/],
    ['linked.zip', /leaves the folder of its manifest/],
    ['with-link', /holds passwd, which is no regular file/],
    ['none', /names no file/],
  ] as const;
  const manifest = join(root, 'local_manifest.json');
  const entries = [whole(inFolder, 'a folder'), whole(inArchive, './b.zip'), ...bad.map(([at]) => whole(outside, at))];
  await writeFile(manifest, JSON.stringify(entries));
  const answer = await service.post('/kos/manifest-list', [pathToFileURL(manifest).href], PROBLEMS);
  assert.deepEqual(answer.object['imported'], [placeOf(inFolder), placeOf(inArchive)]);
  const errors = answer.object['errors'] as { location: string; detail: string }[];
  for (const [i, [at, reason]] of bad.entries()) {
    assert.equal(errors[i]?.location, at);
    assert.match(String(errors[i]?.detail), reason, at);
  }
  assert.equal((await service.get(`/kos/${placeOf(outside).slice(0, -1)}`)).status, 404);
  assert.equal((await service.get(`/kos/${inFolder}/bmi.js`)).status, 404, 'files have the place in their path');
  assert.equal((await service.get(`/kos/${placeOf(inFolder)}bmi.js`)).text, BMI);

  await using started = await startService({ args: ['--manifest', manifest] });
  assert.equal((await started.post(`/endpoints/${inFolder}/bmi`, { weight: 70, height: 1.75 })).object['result'], 22.9);

  // Outside dev, folders are read only where files of manifests are.
  const credentials = 'ann:a long password';
  const env = { KGRID_USER: 'ann', KGRID_PASSWORD: 'a long password' };
  await using secure = await startService({ profile: 'secure', env, credentials });
  assert.equal((await secure.post('/kos/manifest-list', [pathToFileURL(manifest).href])).status, 400);
  const args = ['--allow-file-manifests', root];
  await using allowed = await startService({ profile: 'secure', env, credentials, args });
  const some = await allowed.post('/kos/manifest-list', [pathToFileURL(manifest).href]);
  assert.deepEqual(some.json, [placeOf(inFolder), placeOf(inArchive)]);
});

test('over HTTP a local_url names an archive, and in a manifest that was posted it means nothing', async () => {
  const word = uniqueWord();
  await using web = await servePlaces({
    '/c/ko.zip': await zipOf(bmiKo(word)),
    '/c/local_manifest.json': JSON.stringify(
      ['ko.zip', 'folder', '../ko.zip', '..%2fko.zip', 'http://169.254.1.1/c/ko.zip'].map((local_url) => ({
        ...metadataOf(bmiKo(word)),
        local_url,
      })),
    ),
  });
  const answer = await service.post('/kos/manifest-list', [`${web.url}/c/local_manifest.json`], PROBLEMS);
  assert.deepEqual(answer.object['imported'], [placeOf(word)]);
  const details = (answer.object['errors'] as { detail: string }[]).map(({ detail }) => detail);
  assert.match(details[0] ?? '', /names no archive/);
  for (const detail of details.slice(1)) assert.match(detail, /leaves the folder of its manifest/);
  const posted = await service.post('/kos/manifest', [{ '@id': word, local_url: 'ko.zip' }], PROBLEMS);
  assert.match(posted.text, /a local_url, which is relative to the address of a manifest: this one was posted/);
});
