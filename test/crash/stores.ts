import { mkdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { parseKoId, type KoId } from '../../src/knowledge-object/id.ts';
import { openStoredShelf } from '../../src/shelf/store/open-stored-shelf.ts';
import { openPostgresShelf } from '../../src/shelf/postgres/open-postgres-shelf.ts';
import { openShelf } from '../../src/shelf/open-shelf.ts';
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

/** The file store of the service. */
export const openFileStore: OpenStore = async (dir, onStep) =>
  changesOf(await openStoredShelf(dir, { onStep, keepRemoved: { count: 3, age: 86_400_000 } }));

/** The PostgreSQL store of the service, in the database and fleet that a file in the folder names. */
export const openPostgresStore: OpenStore = async (dir, onStep) => {
  const { url, fleet } = placeIn(dir);
  const keepRemoved = { count: 3, age: 86_400_000 };
  // Once more where all is done: a change that is there and not acknowledged yet.
  const shelf = await openPostgresShelf(url, { folder: dir, fleet, onStep, keepRemoved });
  const store = changesOf(shelf);
  const thenStep =
    <A extends readonly unknown[]>(change: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      await change(...args);
      onStep('after it');
    };
  return {
    import: thenStep(store.import),
    replaceMetadata: thenStep(store.replaceMetadata),
    remove: thenStep(store.remove),
    restore: thenStep(store.restore),
    close: store.close,
  };
};

const changesOf = (shelf: Shelf): CrashStore => ({
  async import(id, files, metadata) {
    await using staging = await shelf.stage();
    for (const [path, text] of Object.entries({ ...files, 'metadata.json': metadata })) {
      await staging.write(path, Buffer.from(text));
    }
    await staging.commit(idOf(id));
  },
  async replaceMetadata(id, metadata) {
    await shelf.replaceMetadata(idOf(id), metadata);
  },
  remove: (id) => shelf.remove(idOf(id)),
  async restore(id) {
    await shelf.restore(idOf(id));
  },
  close: async () => {
    await shelf[Symbol.asyncDispose]();
  },
});

/** A store that writes in place, as one would without thinking of crashes. The check must find what it breaks. */
export const openNaiveStore: OpenStore = (dir, onStep) => {
  const objects = join(dir, '.kgrid/objects');
  const index = join(dir, '.kgrid/index');
  for (const folder of [objects, index]) mkdirSync(folder, { recursive: true });
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const nameOf = (id: Id): string => id.replaceAll('/', '-');

  async function write(path: string, text: string): Promise<void> {
    mkdirSync(dirname(path), { recursive: true });
    onStep('open file');
    await using file = await open(path, 'w');
    onStep('write half');
    await file.write(text.slice(0, text.length / 2));
    onStep('write rest');
    await file.write(text.slice(text.length / 2));
  }
  async function point(id: Id, files: Files, metadata: string): Promise<void> {
    const listed = Object.entries(files).map(([path, text]) => ({ path, size: text.length, sha256: sha256(text) }));
    const lines = listed.sort((a, b) => (a.path < b.path ? -1 : 1)).map((file) => `${file.sha256}  ${file.path}\n`);
    const pointer = { id, digest: sha256(lines.join('')), folder: nameOf(id), files: listed, metadata };
    await write(join(index, `${nameOf(id)}.json`), JSON.stringify({ ...pointer, metadataSha256: sha256(metadata) }));
  }
  const stored = new Map<Id, Files>();
  return Promise.resolve({
    async import(id, files, metadata) {
      onStep('remove old package');
      rmSync(join(objects, nameOf(id)), { recursive: true, force: true });
      for (const [path, text] of Object.entries(files)) await write(join(objects, nameOf(id), path), text);
      await point(id, files, metadata);
      stored.set(id, files);
    },
    replaceMetadata: (id, metadata) => point(id, stored.get(id) ?? {}, metadata),
    remove(id) {
      onStep('remove package');
      rmSync(join(objects, nameOf(id)), { recursive: true, force: true });
      onStep('remove pointer');
      rmSync(join(index, `${nameOf(id)}.json`));
      return Promise.resolve();
    },
    restore: () => Promise.reject(new Error('It keeps nothing')),
    close: () => Promise.resolve(),
  });
};

interface TestedStore {
  readonly open: OpenStore;
  /** By its layout alone, without the code of the store, also while it is open. `isClosed`: nobody has it open. */
  readonly check: (dir: string, isClosed: boolean) => Findings | Promise<Findings>;
  /** As a reader of the service has it. */
  readonly read: (dir: string) => Promise<Shelf>;
}

const inFolder = (open: OpenStore): TestedStore => ({ open, check: checkShelf, read: (dir) => openShelf(dir) });

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
