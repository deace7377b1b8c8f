import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DEFAULT_NAAN } from '../../knowledge-object/places.ts';
import { Backoff } from '../../lib/backoff.ts';
import { messageOf, startRefused } from '../../lib/errors.ts';
import type { KeepRemoved } from '../shelf.ts';
import { BlobCache } from './blob-cache.ts';
import { Database } from './database.ts';
import { stopsStart, toDatabaseError, type DatabaseError } from './database-error.ts';
import { FileLists } from './file-lists.ts';
import { Follower } from './follower.ts';
import { KeptRows } from './kept-rows.ts';
import { migrate } from './migrate.ts';
import { NodeId, nodeIdIn } from './node-id.ts';
import { PackageFiles } from './package-files.ts';
import type { PasswordSources } from './passwords.ts';
import { PostgresShelf } from './postgres-shelf.ts';
import { STANDARD_FLEET } from './schema-name.ts';
import { SharedIndex } from './shared-index.ts';
import { ShelfChanges } from './shelf-changes.ts';

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
  readonly onWarning?: ((message: string, cause?: unknown) => void) | undefined;
}

const CACHE_LIMIT = 4 * 1024 ** 3;
const STAGING_OLD_MS = 86_400_000;

/**
 * Opens the shelf in a database, and makes the schema where it is missing. For a node, it returns before the database
 * could be reached where that may come yet: `ready` tells.
 * @throws startRefused where it can never be used as it is.
 */
export async function openPostgresShelf(location: string, options: PostgresShelfOptions): Promise<PostgresShelf> {
  const { fleet = STANDARD_FLEET, passwords, folder, keepRemoved, now, defaultNaan = DEFAULT_NAAN } = options;
  const { isNode = true, onWarning = () => undefined } = options;
  const database = new Database(location, { fleet, passwords, onStep: options.onStep });
  const staging = join(folder, 'staging');
  await clearStaging(staging);
  const index = new SharedIndex();
  const follower = new Follower({ database, index, onWarning });
  const kept = new KeptRows({ schema: database.schema, bounds: keepRemoved, now });
  const node = isNode ? await nodeIdIn(folder) : new NodeId();
  const changes = new ShelfChanges({ node, database, follower, index, kept, onWarning });
  const cache = new BlobCache({ folder: join(folder, 'files'), limit: options.cacheLimit ?? CACHE_LIMIT });
  const files = new PackageFiles(database, cache, new FileLists(join(folder, 'lists')));
  const first = await tryOnce(database, follower);
  if (first !== undefined && (stopsStart(first) || !isNode)) {
    await follower.close();
    await database.close();
    throw refused(database, first);
  }
  let closed = false;
  const opened = first === undefined ? Promise.resolve() : again(database, follower, first, () => closed, onWarning);
  // Whoever asks for it hears of it.
  opened.catch(() => undefined);
  const shelf = new PostgresShelf({
    defaultNaan,
    node,
    database,
    index,
    follower,
    files,
    kept,
    changes,
    staging,
    opened,
  });
  const close = shelf[Symbol.asyncDispose].bind(shelf);
  shelf[Symbol.asyncDispose] = () => {
    closed = true;
    return close();
  };
  return shelf;
}

async function tryOnce(database: Database, follower: Follower): Promise<DatabaseError | undefined> {
  try {
    await migrate(database);
    follower.start();
    await follower.look();
    return undefined;
  } catch (thrown) {
    return toDatabaseError(thrown);
  }
}

async function again(
  database: Database,
  follower: Follower,
  first: DatabaseError,
  isClosed: () => boolean,
  onWarning: (message: string, cause?: unknown) => void,
): Promise<void> {
  onWarning(`The database of the shelf at ${database.location.label} cannot be used yet: waiting for it`, first);
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
function refused({ location, fleet }: Database, error: DatabaseError): Error {
  const { fault } = error;
  const what =
    fault === 'credentials' && error.message.includes('pg_hba.conf')
      ? 'does not let this user in from here, or not this way: look at its pg_hba.conf, and at sslmode in --shelf'
      : fault === 'credentials'
        ? 'refuses the login: check the user in --shelf and the password (--shelf-password-file, PGPASSWORD or ~/.pgpass)'
        : fault === 'database'
          ? 'does not have that database: create it, or name another in --shelf'
          : fault === 'tls'
            ? 'cannot be trusted, or wants no TLS: check sslmode and sslrootcert in --shelf, and the name in the certificate'
            : fault === 'permission'
              ? `does not let this user use the schema ${fleet}`
              : fault === 'schema'
                ? error.sqlState === undefined
                  ? 'cannot be used'
                  : `cannot be used, since its schema ${fleet} is not whole: restore a backup, or name another with --fleet`
                : 'cannot be reached';
  return startRefused(`--shelf: ${location.label} ${what} (${messageOf(error)})`, { cause: error });
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
