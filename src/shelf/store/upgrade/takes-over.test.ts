/** A shelf that version 0.1 wrote is taken over at the first start, once, and can be gone back to. */
import assert from 'node:assert/strict';
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fixShelf } from '../check-shelf.ts';
import { openToRead } from '../folder-store.ts';
import { openStoredShelf } from '../open-stored-shelf.ts';
import { StoredShelf } from '../stored-shelf.ts';
import { koKey } from '../../../knowledge-object/id.ts';
import { verifyAudit } from '../../audit/verify-audit.ts';
import { openStorage } from '../../open-storage.ts';
import { contentOn } from '../../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../../test/conformance/temporary-folder.ts';
import { filesOf, metadataOf } from '../../../../test/crash/generations.ts';
import { CHAINED, KEPT, OLDER, ON_SHELF, WRITER, writeOldShelf } from '../../../../test/crash/old-shelf.ts';
import { treeOf } from '../../../../test/crash/tree.ts';

const folder = await temporaryFolder();
after(() => folder[Symbol.asyncDispose]());
const origin = join(folder.path, 'origin');
writeOldShelf(origin);
let copies = 0;

function oldShelf(): { dir: string; home: string } {
  const dir = join(folder.path, String(++copies));
  cpSync(origin, dir, { recursive: true });
  return { dir, home: join(dir, '.kgrid') };
}

interface Started {
  readonly warnings: readonly string[];
  readonly steps: readonly string[];
}

/** As a service does; `use` is given its shelf. */
async function start(dir: string, use?: (shelf: StoredShelf) => Promise<void>): Promise<Started> {
  const warnings: string[] = [];
  const steps: string[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  const onStep = (step: string): void => void steps.push(step);
  const keepRemoved = { count: 10, age: Number.MAX_SAFE_INTEGER };
  const options = { location: dir, folder: undefined, maxAudit: 2 ** 20, keepRemoved };
  await using storage = await openStorage({ ...options, onWarning, onStep });
  assert.ok(storage.shelf instanceof StoredShelf);
  await use?.(storage.shelf);
  return { warnings, steps };
}

async function assertTakenOver(shelf: StoredShelf): Promise<void> {
  assert.deepEqual((await shelf.list()).map(({ id }) => koKey(id)).sort(), [...ON_SHELF.keys()]);
  for (const [id, { files, metadata }] of ON_SHELF)
    assert.deepEqual(await contentOn(shelf, id), { ...filesOf(id, files), 'metadata.json': metadataOf(id, metadata) });
  const removed = await shelf.removed();
  assert.deepEqual(
    removed.map(({ id, removed: at, why }) => [koKey(id), at.getTime(), why]).sort(),
    [...KEPT].map(([id, { at, why }]) => [id, at, why]),
  );
  for (const { id, digest } of removed) {
    const kept = await shelf.openRemoved(id, digest);
    assert.deepEqual(
      [...kept.files.keys()].sort(),
      [...Object.keys(filesOf(koKey(id), KEPT.get(koKey(id))?.files ?? 0)), 'metadata.json'].sort(),
    );
    kept.release();
  }
  assert.deepEqual(shelf.damage(), []);
}

async function assertAudit(dir: string): Promise<void> {
  await using database = await openToRead(dir, undefined);
  const { problems, older, writers } = await verifyAudit(database);
  assert.deepEqual(problems, []);
  assert.equal(older, OLDER);
  assert.deepEqual(
    writers.map(({ writer, number }) => [writer, number]),
    [[WRITER, CHAINED]],
  );
}

test('entries, what was deleted or replaced, and the audit are taken over, once', async () => {
  const { dir, home } = oldShelf();
  assert.deepEqual((await start(dir, assertTakenOver)).warnings, []);
  const taken = [...treeOf(home).keys()];
  await assertAudit(dir);
  assert.deepEqual(await start(dir, assertTakenOver), { warnings: [], steps: [] });
  assert.deepEqual([...treeOf(home).keys()], taken);
  await assertAudit(dir);
});

test('the audit is taken over once, also where a kill came before its files were put aside', async () => {
  const { dir, home } = oldShelf();
  await start(dir);
  renameSync(join(home, 'audit.before-0.2'), join(home, 'audit'));
  await start(dir);
  await assertAudit(dir);
  assert.ok(existsSync(join(home, 'audit.before-0.2')));
});

test('what was put aside is the old shelf: moved back, it is as it was, and can be taken over again', async () => {
  const { dir, home } = oldShelf();
  const before = treeOf(dir);
  await start(dir);
  for (const name of readdirSync(home).filter((each) => /^(shelf\.db|objects$|owner|noted)/.test(each)))
    rmSync(join(home, name), { recursive: true });
  for (const name of readdirSync(join(home, 'before-0.2')))
    renameSync(join(home, 'before-0.2', name), join(home, name));
  renameSync(join(home, 'audit.before-0.2'), join(home, 'audit'));
  assert.deepEqual(treeOf(dir), before);
  await start(dir, assertTakenOver);
  await assertAudit(dir);
});

test('an entry that cannot be read is named, and its files stay where they were put aside', async () => {
  const { dir, home } = oldShelf();
  appendFileSync(join(home, 'index/a-b-v2.json'), '}');
  const { warnings } = await start(dir, async (shelf) => {
    assert.deepEqual(
      (await shelf.list()).map(({ id }) => koKey(id)),
      ['a/b/v1', 'theirs/of/v1'],
    );
  });
  assert.match(warnings.join('\n'), /^a\/b\/v2 could not be taken over: .*its files are in \.kgrid\/before-0\.2$/);
  assert.equal(readdirSync(join(home, 'before-0.2/objects')).length, 6);
});

test('a folder of a person that was changed since it was kept is named, and stays where it is', async () => {
  const { dir } = oldShelf();
  const [name = ''] = readdirSync(join(dir, '.removed'));
  appendFileSync(join(dir, '.removed', name, 'a.js'), '// changed');
  const { warnings } = await start(dir, async (shelf) => {
    assert.equal((await shelf.removed()).length, KEPT.size - 1);
  });
  assert.match(
    warnings.join('\n'),
    /^A package of theirs\/gone\/v1 that was kept could not be taken over: .*not what was kept$/,
  );
  assert.ok(existsSync(join(dir, '.removed', name)));
});

test('what is not clear stops the start, says what to do, and changes nothing', async () => {
  const cases: readonly [string, (home: string) => void, RegExp, boolean?][] = [
    [
      'a database beside',
      (home) => writeFileSync(join(home, 'shelf.db'), ''),
      /has a database, .*, and an index of version 0\.1/,
    ],
    ['no index', (home) => rmSync(join(home, 'index'), { recursive: true }), /no index of them in \.kgrid\/index/],
    [
      'an empty index',
      (home) => (rmSync(join(home, 'index'), { recursive: true }), mkdirSync(join(home, 'index'))),
      /no index of them/,
    ],
    [
      'no room',
      (home) => mkdirSync(join(home, 'before-0.2/index'), { recursive: true }),
      /put aside is in \.kgrid\/before-0\.2 still/,
    ],
    [
      'a shelf that is only read',
      () => undefined,
      /is of version 0\.1, and is taken over only where it can be written/,
      true,
    ],
  ];
  for (const [what, make, message, isReadOnly = false] of cases) {
    const { dir, home } = oldShelf();
    make(home);
    const before = treeOf(dir);
    await assert.rejects(openStoredShelf(dir, { isReadOnly }), { code: 'start-refused', message }, what);
    const found = [...treeOf(dir)].filter(([path]) => !path.startsWith('.kgrid/owner'));
    assert.deepEqual(new Map(found), before, what);
  }
});

test('a check that is to make the database again does not take a shelf of version 0.1 for an empty one', async () => {
  const { dir } = oldShelf();
  await assert.rejects(fixShelf(dir, assert.fail), { message: /is of version 0\.1: start the service on it once/ });
  await start(dir, assertTakenOver);
});
