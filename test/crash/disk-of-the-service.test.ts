/** The disk of the shelf fills, or can no longer be written, while the service runs. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { assertShelfError } from '../acceptance/support/expectations.ts';
import { explode } from '../acceptance/support/folders.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { Disk } from './disk.ts';

const naan = uniqueNaan();
const quick = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'quick' });
const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'text' } });
const large = resourceKo({ naan, name: 'large', resources: { 'large.bin': Buffer.alloc(2 ** 20, 'x') } });

/**
 * No part of the shelf: what fills the disk, what is known of packages, which is kept after a change, in its own time, and
 * the folders that objects lie in.
 */
const BESIDE = /^(filler|\.kgrid\/known-packages(\.new)?|\.kgrid\/noted-revision|\.kgrid\/objects\/[0-9a-f]{2})$/;

/** What lies on the shelf, by path. */
const onDisk = (service: OwnService): string[] =>
  readdirSync(service.shelf, { recursive: true, encoding: 'utf8' })
    .filter((path) => !BESIDE.test(path))
    .sort();

/** Every change is refused with that error and changes nothing; all else goes on. */
async function assertOnlyChangesFail(service: OwnService, status: number, error: RegExp): Promise<void> {
  const before = onDisk(service);
  const zip = await zipOf(large.files, '', { compress: false });
  const metadata = { ...quick.metadata, description: 'x'.repeat(100_000) };
  const answers = [
    ['/kos', await service.importZip(zip)],
    [`/kos/${quick.id}`, await service.put(`/kos/${quick.id}`, metadata)],
  ] as const;
  for (const [path, answer] of answers) assertShelfError(answer, { status, path, error });
  assert.deepEqual(onDisk(service), before);
  assert.deepEqual((await service.get(`/kos/${quick.id}`)).object, quick.metadata);
  await assertServes(service);
}

async function assertServes(service: OwnService): Promise<void> {
  assert.equal((await service.post(pathOf(quick), 1)).object['result'], 2);
  assert.equal((await service.get(`/kos/${files.id}/a.txt`)).text, 'text');
  assert.equal((await service.get(`/kos/${files.id}?format=zip`)).status, 200);
  assert.equal((await service.get('/actuator/health')).object['status'], 'UP');
  await service.reload(quick);
  assert.equal((await service.get('/kos')).list.length, 2);
}

/** What health says is wrong with the shelf. */
async function problemOf(service: OwnService): Promise<unknown> {
  const { object } = await service.get('/actuator/health');
  const { components } = object as { components: { shelf: { details: { problem?: unknown } } } };
  return components.shelf.details.problem;
}

test('a disk that fills fails changes only, until there is space again', async () => {
  await using folder = await temporaryFolder();
  using disk = new Disk(folder.path);
  await using service = await startService({ shelf: folder.path });
  await service.serve(quick, files);
  disk.fill(service.pid);
  await assertOnlyChangesFail(service, disk.own ? 507 : 500, disk.own ? /no space left/ : /refused to write \(EFBIG\)/);
  if (disk.own) assert.match(String(await problemOf(service)), /disk of the shelf is full/);
  disk.free(service.pid);
  assert.equal(await problemOf(service), undefined);
  await service.add(large);
  assert.equal((await service.delete(`/kos/${large.id}`)).status, 204);
});

test('a disk that can no longer be written fails changes only, until it can', async () => {
  await using folder = await temporaryFolder();
  using disk = new Disk(folder.path);
  await using service = await startService({ shelf: folder.path, unprivileged: !disk.own });
  await service.serve(quick, files);
  disk.protect();
  await assertOnlyChangesFail(service, 500, /^The shelf is read-only/);
  // Not a removal: it writes nothing but the database, which is open, and that still goes into what is laid over.
  await assertServes(service);
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
  {
    await using again = await startService({ shelf: folder.path, unprivileged: !disk.own });
    await assertOnlyChangesFail(again, 500, /^The shelf is read-only/);
  }
  disk.unprotect();
  await using last = await startService({ shelf: folder.path, unprivileged: !disk.own });
  await last.add(large);
});

test('a shelf that a person filled and that could never be written is served', async () => {
  await using folder = await temporaryFolder();
  using disk = new Disk(folder.path);
  for (const ko of [quick, files]) await explode(ko, folder.path, ko.name);
  disk.protect();
  await using service = await startService({ shelf: folder.path, unprivileged: !disk.own });
  await assertOnlyChangesFail(service, 500, /^The shelf is read-only/);
});
