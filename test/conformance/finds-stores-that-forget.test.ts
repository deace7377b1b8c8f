/** The suite of shelves is worth only what it finds: stores that keep too little or too much must fail it. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { packageDamaged } from '../../src/lib/errors.ts';
import type { Shelf } from '../../src/shelf/shelf.ts';
import { fileStorage } from './file-storage.ts';
import type { ShelfStorage, TestWithShelf } from './shelf.ts';
import { openPackageTests } from './shelf-open-packages.ts';
import { removedTests } from './shelf-removed.ts';

type Storage = Awaited<ReturnType<typeof fileStorage>>;

/** Whether a store passes the tests of the suite that have such a title. */
async function passes(title: RegExp, spoil: (storage: Storage) => ShelfStorage): Promise<boolean> {
  const bodies: ((storage: ShelfStorage) => Promise<void>)[] = [];
  const add: TestWithShelf = (name, body) => void (title.test(name) && bodies.push(body));
  removedTests(add);
  openPackageTests(add);
  assert.equal(bodies.length, 1);
  const outcomes = bodies.map(async (body) => {
    await using storage = await fileStorage();
    await body(spoil(storage));
  });
  return (await Promise.allSettled(outcomes)).every(({ status }) => status === 'fulfilled');
}

const withShelf = (storage: Storage, change: (shelf: Shelf) => Partial<Shelf>): ShelfStorage => ({
  ...storage,
  open: async (options) => {
    const shelf = await storage.open(options);
    const changed = change(shelf);
    return new Proxy(shelf, {
      get(target, name) {
        const value: unknown = Reflect.get(name in changed ? changed : target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  },
});

const spoilt: Record<string, { spoil: (storage: Storage) => ShelfStorage; fails: RegExp }> = {
  'lists nothing': {
    spoil: (storage) => withShelf(storage, () => ({ removed: () => Promise.resolve([]) })),
    fails: /is kept, the latest first, and comes back/,
  },
  'opens nothing of what is kept': {
    spoil: (storage) =>
      withShelf(storage, () => ({ openRemoved: () => Promise.reject(packageDamaged('It cannot be opened')) })),
    fails: /can be opened without being restored/,
  },
  'opens what is there in the place of what is kept': {
    spoil: (storage) =>
      withShelf(storage, (shelf) => ({ openRemoved: async (id) => (await shelf.open(id)) ?? assert.fail() })),
    fails: /can be opened without being restored/,
  },
  'has no digests of files': {
    spoil: (storage) =>
      withShelf(storage, (shelf) => ({
        open: async (id) => Object.assign((await shelf.open(id)) ?? assert.fail(), { digestOf: () => '0' }),
      })),
    fails: /knows the digest of each of its files/,
  },
  'forgets at a start': {
    spoil: (storage) => ({
      ...storage,
      open: async (options) => {
        forgetRetained(storage.path);
        return storage.open(options);
      },
    }),
    fails: /is there when the shelf is opened again/,
  },
  'has no bound of its count': {
    spoil: (storage) => ({
      ...storage,
      open: ({ keep, now } = {}) => storage.open({ keep: { count: 1e6, age: keep?.age ?? 0 }, ...(now && { now }) }),
    }),
    fails: /no more is kept of a version than may be/,
  },
  'has no bound of its age': {
    spoil: (storage) => ({
      ...storage,
      open: ({ keep } = {}) => storage.open({ keep: { count: keep?.count ?? 0, age: Infinity } }),
    }),
    fails: /what is older than it may be is not kept/,
  },
  'gives no space back': {
    spoil: (storage) => withShelf(storage, () => ({ discardRemoved: () => Promise.resolve(0) })),
    fails: /its space is given back while the shelf is open/,
  },
  'restores without looking at the condition': {
    spoil: (storage) =>
      withShelf(storage, (shelf) => ({ restore: (id, { digest } = {}) => shelf.restore(id, { digest }) })),
    fails: /honours the condition/,
  },
};

/** Takes away what the database says of deleted and replaced packages. */
function forgetRetained(shelf: string): void {
  const file = join(shelf, '.kgrid/shelf.db');
  if (!existsSync(file)) return;
  const database = new DatabaseSync(file);
  database.exec('DELETE FROM retained');
  database.close();
}

for (const [what, { spoil, fails }] of Object.entries(spoilt))
  test(`a store that ${what} fails the suite`, async () => {
    assert.ok(await passes(fails, (storage) => storage), 'one that does not passes');
    assert.equal(await passes(fails, spoil), false);
  });
