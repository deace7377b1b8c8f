import assert from 'node:assert/strict';
import { mkdtemp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Bench } from '../../../test/archives/bench.ts';
import { koFiles, zipOf } from '../../../test/archives/ko.ts';
import { web, type Answer } from '../../../test/archives/web.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { ServiceError, shelfNotWritable } from '../../lib/errors.ts';
import { createManifestImporter, type ManifestImporter, type ManifestOutcome } from './create-manifest-importer.ts';
import type { Shelf } from '../shelf.ts';
import { MANIFEST_LIMITS } from './manifest-run.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());
const folder = await mkdtemp(join(tmpdir(), 'kgrid-manifests-'));
after(() => rm(folder, { recursive: true }));

const zip = (id: string): Buffer => zipOf(koFiles({ id }));

function importer(
  more: { secure?: boolean; within?: string[]; private?: boolean; entries?: number; shelf?: Shelf } = {},
): ManifestImporter {
  return createManifestImporter({
    config: {
      profile: more.secure === true ? 'secure' : 'dev',
      fileManifests: more.within ?? [],
      privateManifests: more.private ?? false,
    },
    target: { ...bench.target(), ...(more.shelf === undefined ? {} : { shelf: more.shelf }) },
    log: { debug: () => undefined },
    manifestLimits: { ...MANIFEST_LIMITS, entries: more.entries ?? MANIFEST_LIMITS.entries },
  });
}

const results = (outcomes: readonly ManifestOutcome[]): string[] =>
  outcomes.map(({ id, error }) => (id === undefined ? `! ${error?.message ?? 'no error'}` : koKey(id)));

const json = (value: unknown): string => JSON.stringify(value);
const redirect =
  (to: string): Answer =>
  (_request, response) =>
    response.writeHead(302, { location: to }).end();

test('outcomes keep the order of the entries, one bad entry does not stop the others', async () => {
  await using host = await web({
    '/slow.zip': (_request, response) => setTimeout(() => response.end(zip('m/slow/v1')), 100),
    '/fast.zip': zip('m/fast/v1'),
    '/bad.zip': 'no zip',
    '/broken.zip': zipOf(koFiles({ service: '- a' })),
  });
  const names = ['slow.zip', 'none.zip', 'bad.zip', 'fast.zip', 'broken.zip'];
  const outcomes = await importer().importPosted([...names.map((name) => `${host.url}/${name}`), 'x.zip', {}]);
  assert.deepEqual(results(outcomes), [
    'm/slow/v1',
    '! answered with the status 404',
    '! The zip file is not a zip file',
    'm/fast/v1',
    '! service.yaml must hold a map ("key: value" lines), but it holds a list',
    '! is not absolute: give an http, https or file URL',
    '! is neither a location nor an object with a "url" or an "@id"',
  ]);
  assert.deepEqual(outcomes.map(({ location }) => location).slice(3, 6), [
    `${host.url}/fast.zip`,
    `${host.url}/broken.zip`,
    'x.zip',
  ]);
  assert.deepEqual(await bench.staged(), []);
});

test('the listing of another activator is a manifest, with or without a slash, and through a redirect', async () => {
  const asked: unknown[] = [];
  const listing = json([{ '@id': 'm/one/v1.0', title: 'x' }, { '@id': 'm/two/v1.0' }]);
  const ko =
    (id: string): Answer =>
    (request, response) => {
      asked.push(request.headers.accept, request.headers['accept-encoding']);
      response.end(zip(id));
    };
  await using other = await web({
    '/kos': listing,
    '/kos/': listing,
    '/old': redirect('/kos'),
    '/kos/m/one/v1.0': ko('m/one/v1.0'),
    '/kos/m/two/v1.0': ko('m/two/v1.0'),
  });
  for (const path of ['/kos', '/kos/', '/old']) {
    const outcomes = await importer().importPostedList([`${other.url}${path}`]);
    assert.deepEqual(results(outcomes), ['m/one/v1.0', 'm/two/v1.0'], path);
  }
  assert.deepEqual(asked.slice(0, 2), ['application/zip, */*;q=0.1', 'identity']);
});

test('a list of manifests: relative entries, in the order of the list; what cannot be read is one outcome', async () => {
  await writeFile(join(folder, 'local.zip'), zip('m/local/v1'));
  await writeFile(join(folder, 'manifest.json'), `\uFEFF${json({ manifest: ['local.zip', './none.zip'] })}`);
  await using host = await web({
    '/a/manifest.json': json({ manifest: [{ url: '../b.zip' }, 'c.zip'] }),
    '/b.zip': zip('m/b/v1'),
    '/a/c.zip': zip('m/c/v1'),
    '/text': 'text',
    '/empty': '{}',
  });
  const list = ['/a/manifest.json', '/none', '/text', '/empty'].map((path) => host.url + path);
  const outcomes = await importer().importPostedList([...list, pathToFileURL(join(folder, 'manifest.json')).href]);
  assert.deepEqual(results(outcomes), [
    'm/b/v1',
    'm/c/v1',
    '! answered with the status 404',
    '! is not a manifest: it is not valid JSON',
    'm/local/v1',
    '! names no file',
  ]);
});

test('an operator names a manifest by a path or a URL', async () => {
  const path = join(folder, 'odd #%20 name.json');
  await writeFile(join(folder, 'named.zip'), zip('m/named/v1'));
  await writeFile(path, json({ manifest: ['named.zip'] }));
  for (const location of [path, pathToFileURL(path).href]) {
    assert.deepEqual(results(await importer({ secure: true }).importNamed(location)), ['m/named/v1']);
  }
  await using host = await web({ '/m.json': json({ manifest: [pathToFileURL(join(folder, 'named.zip')).href] }) });
  assert.deepEqual(results(await importer({ secure: true }).importNamed(`${host.url}/m.json`)), ['m/named/v1']);
  assert.deepEqual(results(await importer().importNamed(join(folder, 'none.json'))), ['! names no file']);
});

test('too many entries are refused, also those of listed manifests', async () => {
  const refused = (thrown: unknown): boolean => thrown instanceof ServiceError && thrown.status === 400;
  await assert.rejects(importer({ entries: 2 }).importPosted(['a', 'b', 'c']), refused);
  await assert.rejects(importer({ entries: 2 }).importPostedList(['a', 'b', 'c']), refused);
  await using host = await web({ '/1': json(['a', 'b', 'c']), '/2': json(['d', 'e']) });
  const outcomes = await importer({ entries: 2 }).importPostedList([`${host.url}/1`, `${host.url}/2`]);
  assert.match(results(outcomes)[0] ?? '', /has 3 entries, which makes more than the 2 of one request/);
  assert.equal(outcomes.length, 3);
});

test('thousands of entries are tried, a few at a time', async () => {
  let now = 0;
  let most = 0;
  await using host = await web({
    '/x': (_request, response) => {
      most = Math.max(most, ++now);
      response.on('close', () => now--);
      setTimeout(() => response.writeHead(404).end(), 1);
    },
  });
  const outcomes = await importer().importPosted(Array<string>(1_000).fill(`${host.url}/x`));
  assert.equal(outcomes.filter(({ error }) => error?.message === 'answered with the status 404').length, 1_000);
  assert.ok(most > 1 && most <= 6, `${most} at once`);
});

const NOT_ALLOWED = '! is a file location that is not allowed: allow its folder with --allow-file-manifests';

test('files need an allowed folder where the manifest is not trusted, whatever way leads out of it', async () => {
  const [allowed, outside] = [join(folder, 'allowed'), join(folder, 'allowed-not')];
  await mkdir(allowed);
  await mkdir(outside);
  await writeFile(join(allowed, 'in.zip'), zip('m/in/v1'));
  await writeFile(join(outside, 'out.zip'), zip('m/out/v1'));
  await symlink(join(outside, 'out.zip'), join(allowed, 'link.zip'));
  await symlink(outside, join(allowed, 'dir'));
  const base = pathToFileURL(allowed).href;
  const locations = [
    'in.zip',
    'none.zip',
    'link.zip',
    'dir/out.zip',
    '../allowed-not/out.zip',
    '%2e%2e/allowed-not/out.zip',
    '..%2fallowed-not/out.zip',
    '../allowed-not/none.zip',
    '.',
  ];
  const posted = [
    ...locations.map((path) => `${base}/${path}`),
    'file:///etc/passwd',
    'file:///no/such/file',
    'FILE:/etc/passwd',
    'file:etc/passwd',
    'file://host/x.zip',
  ];
  const outcomes = await importer({ secure: true, within: [allowed] }).importPosted(posted);
  assert.deepEqual(results(outcomes), [
    'm/in/v1',
    '! names no file',
    ...Array<string>(4).fill(NOT_ALLOWED),
    '! is not the location of a file on this host',
    ...Array<string>(2).fill(NOT_ALLOWED),
    ...Array<string>(4).fill(NOT_ALLOWED),
    '! is not the location of a file on this host',
  ]);
  assert.deepEqual(results(await importer({ secure: true }).importPosted([`${base}/in.zip`])), [NOT_ALLOWED]);
  assert.deepEqual(results(await importer({ secure: true }).importPostedList(['file:///etc/passwd'])), [NOT_ALLOWED]);
});

test('only files are read, and their contents stay out of the reasons', async () => {
  const urls = [
    'file:///etc/passwd',
    'file:///dev/zero',
    'file:///',
    'file:///proc/self/environ',
    `${pathToFileURL(folder).href}`,
  ];
  assert.deepEqual(results(await importer().importPosted(urls)), [
    '! The zip file is not a zip file',
    '! is not a file',
    '! is not a file',
    '! The zip file is not a zip file',
    '! is not a file',
  ]);
});

test('a file is let go when the shelf takes nothing', async () => {
  const shelf = Object.create(bench.shelf, {
    stage: { value: () => Promise.reject(shelfNotWritable('The shelf is read-only')) },
  }) as Shelf;
  await writeFile(join(folder, 'any.zip'), zip('m/any/v1'));
  const location = pathToFileURL(join(folder, 'any.zip')).href;
  const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
  const before = await openFiles();
  const outcomes = await importer({ shelf }).importPosted(Array<string>(20).fill(location));
  assert.deepEqual(new Set(results(outcomes)), new Set(['! The shelf is read-only']));
  for (let i = 0; (await openFiles()) > before && i < 100; i++);
  assert.equal(await openFiles(), before);
});
