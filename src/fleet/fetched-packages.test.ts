/** Nodes that install the same at a time, and what goes wrong meanwhile. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../test/conformance/temporary-folder.ts';
import { testDatabase } from '../../test/support/postgres/shared.ts';
import type { Fetched } from '../engines/supervisor/packages/shared-fetches.ts';
import { Pieces } from '../shelf/store/postgres/pieces.ts';
import { PostgresDatabase } from '../shelf/store/postgres/postgres-database.ts';
import { migrate } from '../shelf/store/schema.ts';
import { FetchedPackages } from './fetched-packages.ts';
import { withLease } from './lease.ts';

const shared = await testDatabase();
const database = new PostgresDatabase(shared.url, { fleet: 'kgrid', most: 8 });
after(async () => {
  await database[Symbol.asyncDispose]();
  await shared[Symbol.asyncDispose]();
});
await migrate(database, 'here');

const nodeOf = (name: string): FetchedPackages =>
  new FetchedPackages({
    database,
    objects: new Pieces(database, undefined),
    alone: (lease, work) => withLease(database, name, lease, work),
    onProblem: () => undefined,
  });

async function fetchInto(folder: string, text: string): Promise<Fetched> {
  const path = join(folder, `made-${text}`);
  await writeFile(path, text);
  return { note: `note of ${text}`, files: [{ name: 'archive', path }] };
}

test('of nodes that need the same at a time one fetches, and the others get its bytes', async () => {
  await using folder = await temporaryFolder();
  let fetches = 0;
  const notes = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      nodeOf(name).obtain('same', join(folder.path, name), () => {
        fetches++;
        return fetchInto(folder.path, 'bytes');
      }),
    ),
  );
  assert.equal(fetches, 1);
  assert.deepEqual(notes.map(String).sort(), ['note of bytes', 'note of bytes', 'undefined']);
  const name = ['a', 'b', 'c'][notes.indexOf('note of bytes')] ?? '';
  assert.equal(await readFile(join(folder.path, name, 'archive'), 'utf8'), 'bytes');
});

test('a fetch that fails, or gives nothing to share, leaves it to the next node', async () => {
  await using folder = await temporaryFolder();
  const into = join(folder.path, 'into');
  await assert.rejects(
    nodeOf('a').obtain('failing', into, () => Promise.reject(new Error('no registry'))),
    { message: 'no registry' },
  );
  assert.equal(await nodeOf('a').obtain('failing', into, () => Promise.resolve(undefined)), undefined);
  assert.equal(await nodeOf('b').obtain('failing', into, () => fetchInto(folder.path, 'late')), undefined);
  assert.equal(await nodeOf('a').obtain('failing', into, assert.fail), 'note of late');
});

test('what was shared and is damaged is fetched', async () => {
  await using folder = await temporaryFolder();
  await nodeOf('a').obtain('damaged', join(folder.path, 'a'), () => fetchInto(folder.path, 'whole'));
  await shared.run(`UPDATE kgrid.object_piece SET bytes = 'other' WHERE bytes = 'whole'`);
  let fetches = 0;
  await nodeOf('b').obtain('damaged', join(folder.path, 'b'), () => {
    fetches++;
    return Promise.resolve(undefined);
  });
  assert.equal(fetches, 1);
});

test('objects that only an installation names stay', async () => {
  await using folder = await temporaryFolder();
  await nodeOf('a').obtain('kept', join(folder.path, 'a'), () => fetchInto(folder.path, 'wanted'));
  await shared.run('UPDATE kgrid.object SET unused = 1');
  await new Pieces(database, undefined).collect();
  assert.equal(await nodeOf('b').obtain('kept', join(folder.path, 'b'), assert.fail), 'note of wanted');
});
