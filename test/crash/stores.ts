import { mkdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { parseKoId, type KoId } from '../../src/knowledge-object/id.ts';
import { openStoredShelf } from '../../src/shelf/store/open-stored-shelf.ts';
import { openPostgresShelf } from '../../src/shelf/store/postgres/open-postgres-shelf.ts';
import { openShelf } from '../../src/shelf/stores.ts';
import type { Shelf } from '../../src/shelf/shelf.ts';
import { checkDatabase } from './check-database.ts';
import { checkShelf, type Findings } from './check-shelf.ts';
import { placeIn } from './database-place.ts';
import type { Files, Id } from './generations.ts';

/** What the crash test makes changes with. */
export interface CrashStore {
  readonly import: (id: Id, files: Files, metadata: string) => Promise<void>;
  readonly replaceMetadata: (id: Id, metadata: string) => Promise<void>;
  readonly remove: (id: Id) => Promise<void>;
  /** What was deleted or replaced last. */
  readonly restore: (id: Id) => Promise<void>;
  readonly close: () => Promise<void>;
}

export type OpenStore = (dir: string, onStep: (step: string) => void) => Promise<CrashStore>;

const idOf = (text: Id): KoId => {
  const id = parseKoId(text);
  if (id === undefined) throw new Error(`not an id: ${text}`);
  return id;
};

const HOUR = 3_600_000;
const keepRemoved = { count: 3, age: 24 * HOUR };

/** The shelf of the service in a folder. */
export const openFileStore: OpenStore = async (dir, onStep) =>
  changesOf(await openStoredShelf(dir, { onStep, keepRemoved }), onStep);

/** The PostgreSQL store of the service, in the database and fleet that a file in the folder names. */
export const openPostgresStore: OpenStore = async (dir, onStep) => {
  const { url, fleet } = placeIn(dir);
  return changesOf(await openPostgresShelf(url, { folder: dir, fleet, onStep, keepRemoved }), onStep);
};

/** With a step more where all is done: a change that is there and not acknowledged yet. */
function changesOf(shelf: Shelf, onStep: (step: string) => void): CrashStore {
  const thenStep =
    <A extends readonly unknown[]>(change: (...args: A) => Promise<unknown>) =>
    async (...args: A): Promise<void> => {
      await change(...args);
      onStep('after it');
    };
  return {
    import: thenStep(async (id: Id, files: Files, metadata: string) => {
      await using staging = await shelf.stage();
      for (const [path, text] of Object.entries({ ...files, 'metadata.json': metadata })) {
        await staging.write(path, Buffer.from(text));
      }
      await staging.commit(idOf(id));
    }),
    replaceMetadata: thenStep((id: Id, metadata: string) => shelf.replaceMetadata(idOf(id), metadata)),
    remove: thenStep((id: Id) => shelf.remove(idOf(id))),
    restore: thenStep((id: Id) => shelf.restore(idOf(id))),
    close: async () => {
      await shelf[Symbol.asyncDispose]();
    },
  };
}

/** A store that writes in place, and each row by itself, as one would without thinking of crashes. The check must find what it breaks. */
export const openNaiveStore: OpenStore = (dir, onStep) => {
  const objects = join(dir, '.kgrid/objects');
  mkdirSync(objects, { recursive: true });
  const database = new DatabaseSync(join(dir, '.kgrid/shelf.db'));
  database.exec(
    `CREATE TABLE IF NOT EXISTS package (digest TEXT PRIMARY KEY, files TEXT, stored INTEGER);
     CREATE TABLE IF NOT EXISTS ko (id TEXT PRIMARY KEY, digest TEXT, listing TEXT, metadata TEXT, removed INTEGER, folder TEXT);`,
  );
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const pathOf = (digest: string): string => join(objects, digest.slice(0, 2), digest);

  async function write(text: string): Promise<string> {
    const path = pathOf(sha256(text));
    mkdirSync(dirname(path), { recursive: true });
    onStep('open file');
    await using file = await open(path, 'w');
    onStep('write half');
    await file.write(text.slice(0, text.length / 2));
    onStep('write rest');
    await file.write(text.slice(text.length / 2));
    return sha256(text);
  }
  function removePackage(id: Id): void {
    const old = database.prepare('SELECT digest, files FROM ko JOIN package USING (digest) WHERE id = ?').get(id);
    if (old === undefined) return;
    onStep('remove old package');
    database.prepare('DELETE FROM package WHERE digest = ?').run(String(old['digest']));
    onStep('remove old files');
    for (const [, , digest] of JSON.parse(String(old['files'])) as [string, number, string][])
      rmSync(pathOf(digest), { force: true });
  }
  return Promise.resolve({
    async import(id, files, metadata) {
      removePackage(id);
      const rows: [string, number, string][] = [];
      for (const [path, text] of Object.entries({ ...files, 'metadata.json': metadata }))
        rows.push([path, text.length, await write(text)]);
      rows.sort(([a], [b]) => (a < b ? -1 : 1));
      const listing = await write(JSON.stringify({ format: 1, id, files: rows }));
      const digest = sha256(rows.map(([path, , object]) => `${object}  ${path}\n`).join(''));
      onStep('write entry');
      database.prepare('INSERT OR REPLACE INTO ko VALUES (?, ?, ?, ?, 0, NULL)').run(id, digest, listing, metadata);
      onStep('write package');
      database.prepare('INSERT INTO package VALUES (?, ?, 1)').run(digest, JSON.stringify(rows));
    },
    replaceMetadata(id, metadata) {
      onStep('write metadata');
      database.prepare('UPDATE ko SET metadata = ? WHERE id = ?').run(metadata, id);
      return Promise.resolve();
    },
    remove(id) {
      removePackage(id);
      onStep('remove entry');
      database.prepare('DELETE FROM ko WHERE id = ?').run(id);
      return Promise.resolve();
    },
    restore: () => Promise.reject(new Error('It keeps nothing')),
    close: () => {
      database.close();
      return Promise.resolve();
    },
  });
};

interface TestedStore {
  readonly open: OpenStore;
  /** By its layout alone, without the code of the store, also while it is open. `isClosed`: nobody has it open. */
  readonly check: (dir: string, isClosed: boolean) => Findings | Promise<Findings>;
  /** As a reader of the service has it, an hour later. */
  readonly read: (dir: string) => Promise<Shelf>;
}

const inFolder = (open: OpenStore): TestedStore => ({
  open,
  check: checkShelf,
  async read(dir) {
    const shelf = await openStoredShelf(dir);
    await shelf.collect(Date.now() + HOUR + 1000);
    return shelf;
  },
});

export type StoreName = 'file' | 'postgres' | 'naive';

export const stores: Readonly<Record<StoreName, TestedStore>> = {
  file: inFolder(openFileStore),
  naive: inFolder(openNaiveStore),
  postgres: {
    open: openPostgresStore,
    check: checkDatabase,
    read(dir) {
      const { url, fleet } = placeIn(dir);
      return openShelf(url, { fleet, copies: join(dir, 'others'), isNode: false });
    },
  },
};
