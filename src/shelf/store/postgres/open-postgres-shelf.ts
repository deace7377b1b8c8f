/** Opens the shelf that lies in a PostgreSQL database, and makes its schema where it is missing. */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_NAAN } from '../../../knowledge-object/places.ts';
import { Backoff } from '../../../lib/backoff.ts';
import { messageOf, ServiceError, startRefused } from '../../../lib/errors.ts';
import type { KeepRemoved } from '../../shelf.ts';
import { ShelfChanges } from '../changes.ts';
import { DurableFiles } from '../durable-files.ts';
import { NodeId, nodeIdIn } from '../nodes.ts';
import { filesOf } from '../packages.ts';
import { Retained } from '../retained.ts';
import { migrate } from '../schema.ts';
import { ShelfFollower } from '../shelf-follower.ts';
import { StoredKos } from '../stored-kos.ts';
import { StoredShelf, type Warn } from '../stored-shelf.ts';
import { asServiceError, stopsStart, toDatabaseError, type DatabaseError } from './database-error.ts';
import { ObjectCache, PackageLists } from './object-cache.ts';
import type { PasswordSources } from './connection.ts';
import { Pieces } from './pieces.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { STANDARD_FLEET } from './location.ts';

export interface PostgresShelfOptions {
  /** Where files of packages are kept on this machine, and who it is; made where it is missing. Of one node alone. */
  readonly folder: string;
  readonly fleet?: string | undefined;
  readonly passwords?: PasswordSources | undefined;
  readonly keepRemoved?: KeepRemoved | undefined;
  readonly defaultNaan?: string | undefined;
  /** For tests: epoch milliseconds. */
  readonly now?: (() => number) | undefined;
  /** False for a command, which is no node of the fleet and does not wait for a database that is away. */
  readonly isNode?: boolean | undefined;
  /** Bytes of files on this machine. */
  readonly cacheLimit?: number | undefined;
  /** For tests: called before each statement of a change. */
  readonly onStep?: ((step: string) => void) | undefined;
  readonly onWarning?: Warn | undefined;
  /** Aborted once the service stops, which then waits for no attempt to connect. */
  readonly stopped?: AbortSignal | undefined;
}

const CACHE_LIMIT = 4 * 1024 ** 3;
const STAGING_OLD_MS = 86_400_000;

/** Milliseconds for which a reload waits for what others changed. */
const LONGEST_CATCH_UP_MS = 2000;

/**
 * For a node, it returns before the database could be reached where that may come yet: `ready` tells.
 * @throws startRefused where it can never be used as it is.
 */
export async function openPostgresShelf(location: string, options: PostgresShelfOptions): Promise<StoredShelf> {
  const { fleet = STANDARD_FLEET, passwords, folder, keepRemoved, now, defaultNaan = DEFAULT_NAAN } = options;
  const { isNode = true, onWarning: warn = () => undefined, onStep, stopped } = options;
  const database = new PostgresDatabase(location, { fleet, passwords, onStep, stopped });
  const { dialect } = database;
  const staging = join(folder, 'staging');
  await clearStaging(staging);
  const kos = new StoredKos();
  const follower = new ShelfFollower({ database, kos, onWarning: warn });
  const retained = new Retained({ dialect, bounds: keepRemoved, now });
  const node = isNode ? await nodeIdIn(folder) : new NodeId();
  const cache = new ObjectCache({ folder: join(folder, 'files'), limit: options.cacheLimit ?? CACHE_LIMIT });
  const objects = new Pieces(database, cache);
  const lists = new PackageLists(join(folder, 'lists'));
  const changes = new ShelfChanges({ database, node, follower, retained, objects, onWarning: warn });
  const first = await tryOnce(database, follower);
  if (first !== undefined && (stopsStart(first) || !isNode)) {
    await follower[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    throw refused(database, first);
  }
  let isClosed = false;
  const opened =
    first === undefined ? Promise.resolve() : again({ database, follower, first, isClosed: () => isClosed, warn });
  // Who asks for it hears of it.
  opened.catch(() => undefined);
  return new StoredShelf({
    ...{ type: 'postgres', defaultNaan, staging, database, node, objects, kos, follower, changes, retained, warn },
    disk: new DurableFiles(undefined, { syncs: false }),
    folders: undefined,
    async filesOf(digest) {
      const known = await lists.read(digest);
      if (known !== undefined) return known;
      const files = await filesOf(database.query, dialect, digest);
      if (files !== undefined) await lists.keep(digest, files);
      return files;
    },
    keepFiles: (digest, files) => lists.keep(digest, files),
    opened,
    mayCollect: true,
    mayWrite: true,
    keepsAudit: true,
    // While it is known that the database is away, a change is refused at once.
    requireWritable() {
      if (follower.problem !== undefined) throw asServiceError(follower.problem);
    },
    async lookAgain() {
      await Promise.race([
        follower.look().catch(() => undefined),
        wait(LONGEST_CATCH_UP_MS, undefined, { ref: false }),
      ]);
    },
    condition: () => ({
      problem: follower.problem && `The database at ${database.label} cannot be used (${follower.problem.message})`,
      details: { database: database.label, fleet, revision: follower.reached.revision },
    }),
    check: () => Promise.resolve(),
    async close() {
      isClosed = true;
      await database[Symbol.asyncDispose]();
    },
  });
}

async function tryOnce(database: PostgresDatabase, follower: ShelfFollower): Promise<DatabaseError | undefined> {
  try {
    await migrate(database, `${database.label}, schema ${database.fleet}`);
    await follower.start();
    return undefined;
  } catch (thrown) {
    return toDatabaseError(thrown);
  }
}

interface Attempts {
  readonly database: PostgresDatabase;
  readonly follower: ShelfFollower;
  /** Why the first attempt failed. */
  readonly first: DatabaseError;
  readonly isClosed: () => boolean;
  readonly warn: Warn;
}

async function again({ database, follower, first, isClosed, warn }: Attempts): Promise<void> {
  warn(`The database of the shelf at ${database.label} cannot be used yet: waiting for it`, first);
  const pauses = new Backoff(250, 2000);
  for (;;) {
    await wait(pauses.next(), undefined, { ref: false });
    if (isClosed()) throw startRefused('The activator is stopping');
    const error = await tryOnce(database, follower);
    if (error === undefined) return;
    if (stopsStart(error)) throw refused(database, error);
  }
}

/** One line for the person who starts it; never with the password. */
function refused({ location, fleet }: PostgresDatabase, error: DatabaseError): Error {
  if (error.cause instanceof ServiceError) return error.cause;
  const what: Partial<Record<DatabaseError['fault'], string>> = {
    credentials: error.message.includes('pg_hba.conf')
      ? 'does not let this user in from here, or not this way: look at its pg_hba.conf, and at sslmode in --shelf'
      : 'refuses the login: check the user in --shelf and the password (--shelf-password-file, PGPASSWORD or ~/.pgpass)',
    database: 'does not have that database: create it, or name another in --shelf',
    tls: 'cannot be trusted, or wants no TLS: check sslmode and sslrootcert in --shelf, and the name in the certificate',
    permission: `does not let this user use the schema ${fleet}`,
    schema:
      error.sqlState === undefined
        ? 'cannot be used'
        : `cannot be used, since its schema ${fleet} is not whole: restore a backup, or name another with --fleet`,
  };
  return startRefused(`--shelf: ${location.label} ${what[error.fault] ?? 'cannot be reached'} (${messageOf(error)})`, {
    cause: error,
  });
}

/** What a process that was killed left there. */
async function clearStaging(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (Date.now() - (await stat(path)).mtimeMs > STAGING_OLD_MS) await rm(path, { recursive: true, force: true });
    }
  } catch (thrown) {
    throw startRefused(`--state: the folder ${folder} cannot be written (${messageOf(thrown)})`, { cause: thrown });
  }
}
