import assert from 'node:assert/strict';
import { mkdtemp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Bench } from '../../../test/archives/bench.ts';
import { koFiles, zipOf } from '../../../test/archives/ko.ts';
import { web } from '../../../test/archives/web.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { shelfNotWritable } from '../../lib/errors.ts';
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
