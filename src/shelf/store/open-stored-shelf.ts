/** Opens the shelf that lies in a folder, and makes the folder where it is missing. */
import { constants, existsSync, type Stats } from 'node:fs';
import { access, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_NAAN } from '../../knowledge-object/places.ts';
import { shelfNotWritable, startRefused, type ServiceError } from '../../lib/errors.ts';
import { fullDisk, isReadOnly, isTransient, reasonOf, shelfUnreadable } from '../disk-errors.ts';
import { DurableFiles, makeFolder, syncFolder, tryToWrite, type OnStep } from './durable-files.ts';
import { FolderPackages } from '../unpacked/folder-packages.ts';
import { takeOwnership, type Owner } from './owner-lock.ts';
import { RemovedFolder } from '../unpacked/removed-folder.ts';
import { shelfLayout, type ShelfLayout } from './shelf-layout.ts';
import type { KeepRemoved } from '../shelf.ts';
import type { ImportRules } from '../import/import-zip.ts';
import { PlacedArchives } from '../unpacked/placed-archives.ts';
import { ShelfChanges } from './changes.ts';
import { NodeId } from './nodes.ts';
import { ObjectsFolder } from './objects-folder.ts';
import { filesOf, namedObjects } from './packages.ts';
import { ReadOnlyCopy } from './snapshot.ts';
import { Retained } from './retained.ts';
import { migrate } from './schema.ts';
import { ShelfFollower } from './shelf-follower.ts';
import { SqliteDatabase, SqliteError } from './sqlite/sqlite-database.ts';
import { StoredKos } from './stored-kos.ts';
import { StoredShelf, type Warn } from './stored-shelf.ts';
import { isOld } from './upgrade/old-shelf.ts';
import { takeOverFolder } from './upgrade/take-over-folder.ts';

/** Milliseconds between the attempts to read a shelf at the start. */
const READ_AGAIN_AFTER = [50, 200, 800];

export interface StoredShelfOptions {
  /** Shown to a second activator that is started on the same shelf. */
  readonly address?: string | undefined;
  /** How much is retained of what is deleted or replaced; undefined: nothing comes to that, and nothing goes of it. */
  readonly keepRemoved?: KeepRemoved | undefined;
  /** For tests: milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** The naan of the places of KOs whose `@id` is a word or a URL. */
  readonly defaultNaan?: string | undefined;
  /** True where nothing shall be written, whether it could or not. */
  readonly isReadOnly?: boolean | undefined;
  /** Of a shelf that is only read: the folder for its database; by default one that goes with this process. */
  readonly state?: string | undefined;
  /** How archives that people put into the folder are imported; undefined where they are only named. */
  readonly archives?: ImportRules | undefined;
  /** Hears what went wrong without failing an operation. */
  readonly onWarning?: Warn | undefined;
  /** For tests: called before each durable step and each statement of a change, by name. What it throws fails the step. */
  readonly onStep?: OnStep | undefined;
}

/** @throws startRefused where there can be no such folder, or another activator owns it. */
export async function openStoredShelf(dir: string, options: StoredShelfOptions = {}): Promise<StoredShelf> {
  const warn = options.onWarning ?? (() => undefined);
  const { defaultNaan = DEFAULT_NAAN } = options;
  const layout = shelfLayout(await shelfFolder(dir, warn));
  // What is taken over has none yet, and may have packages since an attempt that was interrupted.
  await requireDatabase(layout, existsSync(databaseIn(layout)) || isOld(layout));
  await using owned = new AsyncDisposableStack();
  const { owner, problem } = await ownerOf(layout, options, warn);
  if (owner !== undefined) owned.defer(() => owner.release());
  if (owner !== undefined) await clearStaging(layout);
  const disk = new DurableFiles(options.onStep);
  if (owner !== undefined) await takeOverFolder({ layout, file: databaseIn(layout), disk, warn });
  else if (isOld(layout) && !existsSync(databaseIn(layout))) throw notTakenOver(layout);
  const wasThere = existsSync(databaseIn(layout));
  const copy = owner === undefined ? owned.use(await ReadOnlyCopy.begin(databaseIn(layout), options.state)) : undefined;
  const database = owned.use(await openDatabase(layout, copy?.file ?? databaseIn(layout), options));
  await orRefused(layout, async () => copy?.updateIn(database));
  owner?.guard(databaseIn(layout));
  const kos = new StoredKos();
  const retained = new Retained({ dialect: database.dialect, bounds: options.keepRemoved, now: options.now });
  const { dialect, query } = database;
  const { staging, root } = layout;
  const named = (): Promise<ReadonlySet<string>> => namedObjects(query, dialect);
  const objects = new ObjectsFolder({ folder: layout.objects, staging, disk, named });
  const follower = new ShelfFollower({ database, kos, onWarning: warn });
  const node = new NodeId();
  const changes = new ShelfChanges({ database, node, follower, retained, objects, onWarning: warn });
  const removed = new RemovedFolder(layout, disk);
  const isCopy = copy !== undefined;
  const show = (): Promise<void> => (isCopy ? kos.load(query, dialect, kos.revision) : follower.look());
  const folders = new FolderPackages({ layout, disk, database, kos, show, removed, defaultNaan, isCopy });
  const rules = owner === undefined ? undefined : options.archives;
  const archives = new PlacedArchives({ root, removed, rules, warn });
  await orRefused(layout, async () => {
    await follower.start();
    await folders.load();
  });
  const openedAt = kos.revision;
  await eventually(dir, () => folders.scan());
  void removed.count();
  const noted = notedIn(layout);
  const isOlder = kos.revision < (await readNoted(noted));
  if (isOlder)
    warn(
      'The database of the shelf is older than it was, as after a backup was put back: nothing counts as left over; kgrid shelf check --fix with the database put away takes in what lies there',
    );
  const notes = notesIn(noted, () => kos.revision);
  const shelf = new StoredShelf({
    ...{
      type: 'file',
      defaultNaan,
      staging,
      disk,
      database,
      node,
      objects,
      kos,
      follower,
      changes,
      retained,
      folders,
      archives,
      warn,
    },
    filesOf: (digest) => filesOf(query, dialect, digest),
    opened: Promise.resolve(),
    openedAt,
    mayCollect: wasThere && !isOlder,
    mayWrite: owner !== undefined,
    keepsAudit: copy?.isTemporary !== true,
    requireWritable() {
      const lost = owner?.problem();
      if (lost !== undefined) throw shelfNotWritable(`${lost}.`);
    },
    async lookAgain() {
      if ((await copy?.update()) !== true) return;
      await follower.look();
      await folders.load();
    },
    onChanged: () => notes.write(),
    condition: () => ({
      problem: owner === undefined ? problem : (owner.problem() ?? fullDisk(root)),
      details: { removed: removed.size },
    }),
    async check() {
      try {
        await readdir(root);
        await query('SELECT 1');
      } catch (thrown) {
        throw shelfUnreadable(thrown);
      }
    },
    async close() {
      await notes.written();
      await database[Symbol.asyncDispose]();
      await copy?.[Symbol.asyncDispose]();
      owner?.release();
    },
  });
  // Otherwise the service does so once it listens: there may be many.
  if (rules === undefined) await shelf.ready();
  owned.move();
  return shelf;
}

interface Notes {
  /** Many changes at once are written once. */
  readonly write: () => void;
  readonly written: () => Promise<void>;
}

/** Says in a file how far the database was, so that one that was put back from a backup is known by it. */
function notesIn(file: string, revision: () => number): Notes {
  let [written, isDue, noted] = [Promise.resolve(), false, -1];
  const write = async (): Promise<void> => {
    isDue = false;
    const now = revision();
    await writeFile(file, String(now));
    noted = now;
  };
  return {
    write() {
      if (isDue || noted === revision()) return;
      isDue = true;
      written = written.then(write).catch(() => undefined);
    },
    written: () => written,
  };
}

const readNoted = async (noted: string): Promise<number> => Number(await readFile(noted, 'utf8').catch(() => '0')) || 0;

/** The file that says how far the database was. */
export const notedIn = ({ home }: Pick<ShelfLayout, 'home'>): string => join(home, 'noted-revision');

export const databaseIn = ({ home }: Pick<ShelfLayout, 'home'>): string => join(home, 'shelf.db');

async function openDatabase(
  layout: ShelfLayout,
  file: string,
  { onStep }: StoredShelfOptions,
): Promise<SqliteDatabase> {
  return orRefused(layout, async () => {
    const database = await SqliteDatabase.open(file, { onStep });
    try {
      if (file === databaseIn(layout)) await requireDatabase(layout, await hasTables(database));
      await migrate(database, layout.root);
      return database;
    } catch (thrown) {
      await database[Symbol.asyncDispose]();
      throw thrown;
    }
  });
}

/** @throws startRefused where the database cannot be used, saying how it is made again. */
async function orRefused<T>({ root }: ShelfLayout, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof SqliteError) && !isReadOnly(thrown)) throw thrown;
    const [isDamage, why] =
      thrown instanceof SqliteError ? [thrown.isDamage, thrown.message] : [false, reasonOf(thrown)];
    const remedy = isDamage
      ? `put it back from a backup, or make it again from the packages with: kgrid shelf check --fix ${quoted(root)}`
      : 'see that this user may read and write it';
    throw startRefused(`--shelf: the database of ${root} cannot be used (${why}): ${remedy}`, { cause: thrown });
  }
}

/**
 * Nothing says which of the packages are on the shelf, and all would count as left over.
 * @param isThere whether the database has its tables. @throws startRefused where packages lie beside none.
 */
async function requireDatabase(layout: ShelfLayout, isThere: boolean): Promise<void> {
  if (isThere) return;
  const parts = await readdir(layout.objects).catch(() => []);
  let packages = 0;
  for (const part of parts)
    packages += (await readdir(join(layout.objects, part)).catch(() => [])).filter((name) =>
      name.endsWith('.package'),
    ).length;
  if (packages === 0) return;
  const state = existsSync(databaseIn(layout)) ? 'empty' : 'missing';
  throw startRefused(
    `--shelf: ${layout.root} has ${packages === 1 ? '1 package' : `${String(packages)} packages`} in .kgrid/objects, but its database, .kgrid/shelf.db, is ${state}: ` +
      `put it back from a backup, or make it again with: kgrid shelf check --fix ${quoted(layout.root)}`,
  );
}

const notTakenOver = ({ root }: ShelfLayout): ServiceError =>
  startRefused(
    `--shelf: ${root} is of version 0.1, and is taken over only where it can be written: start once without --read-only, as a user who may write there`,
  );

async function hasTables({ query }: SqliteDatabase): Promise<boolean> {
  const { rows } = await query(`SELECT 1 AS found FROM sqlite_schema WHERE name = 'ko'`);
  return rows.length > 0;
}

/** Tries again what fails for a reason that may pass. @throws startRefused where it does not in time. */
async function eventually<T>(dir: string, read: () => Promise<T>): Promise<T> {
  for (const delay of READ_AGAIN_AFTER) {
    try {
      return await read();
    } catch (thrown) {
      if (!isTransientFailure(thrown)) throw thrown;
      await wait(delay);
    }
  }
  return read().catch((thrown: unknown) => {
    throw isTransientFailure(thrown)
      ? startRefused(`--shelf: the folder ${dir} cannot be read (${reasonOf(thrown)})`)
      : thrown;
  });
}

const isTransientFailure = (thrown: unknown): boolean =>
  isTransient(thrown) || (thrown instanceof Error && isTransient(thrown.cause));

async function shelfFolder(dir: string, warn: Warn): Promise<string> {
  try {
    const made = await makeFolder(dir);
    if (made !== undefined) {
      warn(`--shelf: there was no folder ${dir}: it was made, and nothing is on it yet`);
      await syncFolder(dirname(made)).catch(() => undefined);
    }
    await readdir(dir);
    return await realpath(dir);
  } catch (thrown) {
    throw refusal(dir, await stat(dir).catch(() => undefined), thrown);
  }
}

function refusal(dir: string, found: Stats | undefined, thrown: unknown): ServiceError {
  if (found === undefined) return startRefused(`--shelf: the folder ${dir} cannot be made (${reasonOf(thrown)})`);
  if (!found.isDirectory()) return startRefused(`--shelf: ${dir} is a file; give a folder`);
  return startRefused(`--shelf: the folder ${dir} cannot be read (${reasonOf(thrown)})`);
}

/** This process as the only one that writes there; undefined where it only reads. */
async function ownerOf(
  layout: ShelfLayout,
  { isReadOnly = false, address }: StoredShelfOptions,
  warn: Warn,
): Promise<{ owner: Owner | undefined; problem?: string }> {
  if (!isReadOnly && (await makeWritable(layout))) return { owner: takeOwnership(layout, address, warn) };
  if (isReadOnly) return { owner: undefined };
  const problem =
    'The shelf cannot be written by this user: it serves, and refuses every change; --read-only says that it shall be so';
  warn(problem);
  return { owner: undefined, problem };
}

/** @returns false for a shelf that this process may only read. */
async function makeWritable(layout: ShelfLayout): Promise<boolean> {
  try {
    for (const folder of [layout.staging, layout.objects]) {
      const made = await makeFolder(folder);
      // A folder that is lost with the power takes along what was stored in it.
      if (made !== undefined) await syncFolder(dirname(made));
      await tryToWrite(folder);
    }
    await tryToWrite(layout.home);
    // It may be another user's, as after a command that was run as root. One that cannot be read stops the start.
    if (await may(databaseIn(layout), constants.R_OK)) await access(databaseIn(layout), constants.W_OK);
    return true;
  } catch (thrown) {
    if (isReadOnly(thrown)) return false;
    throw startRefused(`--shelf: the folder ${layout.home} cannot be made (${reasonOf(thrown)})`, { cause: thrown });
  }
}

const may = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );

/** What was on its way in when an earlier process ended. */
async function clearStaging({ staging }: ShelfLayout): Promise<void> {
  for (const name of await readdir(staging)) await rm(join(staging, name), { recursive: true, force: true });
}

const quoted = (path: string): string =>
  /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
