/**
 * What an activator keeps for itself beside the packages: the audit, what it found out about packages, and what it can
 * make again. The packages and the index of them lie together on the shelf, and never here.
 */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { startRefused } from '../lib/errors.ts';
import { digestOf } from '../lib/text.ts';
import { userCache } from '../lib/user-cache.ts';
import { isFull, isMissing, isReadOnly, reasonOf, whyUnusable } from './disk-errors.ts';
import { clearSpool } from './import/spool.ts';
import { makeFolder, tryToWrite } from './store/durable-files.ts';
import { type Owner, ShelfInUse, takeOwnership } from './store/owner-lock.ts';
import { SHELF_HOME } from './store/shelf-layout.ts';
import { storeAt } from './stores.ts';

export interface StateFolder extends Disposable {
  /** Folder of the audit; undefined where nothing can be kept. */
  readonly audit: string | undefined;
  /** File of what was found out about packages; undefined where nothing can be kept. */
  readonly knownPackages: string | undefined;
  /** File that says how far this node knew the database of its fleet; undefined where nothing can be kept. */
  readonly notedHistory: string | undefined;
  /** Where runtimes keep what they fetched and installed. */
  readonly cache: string;
  /** Where uploads lie while they are unpacked. */
  readonly spool: string;
  /** Where files of packages are kept whose shelf is elsewhere. */
  readonly copies: string;
}

export interface StateOptions {
  /** Location of the shelf, which this process has opened. */
  readonly shelf: string;
  /** Where the state is to lie; by default in the folder of the shelf, or in the user's cache where that is none. */
  readonly folder: string | undefined;
  /** Shown to a second activator that is started on the same state folder. */
  readonly address?: string | undefined;
  /** Of a shelf in a database. */
  readonly fleet?: string | undefined;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

/** @throws startRefused where a folder that was named cannot be used, or another activator has it. */
export async function openState(options: StateOptions): Promise<StateFolder> {
  const { shelf, folder, address, onWarning } = options;
  const ofShelf = storeAt(shelf).folderAt(shelf);
  if (ofShelf === undefined) return openStateOfNode(options);
  const root = await realPath(ofShelf);
  const standard = join(root, SHELF_HOME);
  const home = folder === undefined ? standard : await realPath(resolve(folder));
  // Whoever has the shelf has what lies in it.
  if (home === standard) return (await isWritable(home)) ? placesIn(home) : nothingKept();
  refuseMixture(home, root);
  await requireWritable(home);
  return placesIn(home, own(home, address, onWarning));
}

const own = (home: string, address: string | undefined, onWarning: StateOptions['onWarning']): Owner =>
  takeOwnership(
    {
      option: '--state',
      root: home,
      ownerNote: join(home, 'owner.json'),
      parts: [home],
    },
    address,
    onWarning,
  );

/** Nodes of one machine that say nothing of it have one each. */
const MOST_FOLDERS = 32;

/** The audit is kept with the shelf; all that lies here can be made again. */
async function openStateOfNode({ shelf, fleet = '', folder, address, onWarning }: StateOptions): Promise<StateFolder> {
  const name = `fleet-${digestOf(storeAt(shelf).labelAt(shelf), fleet, address ?? '').slice(0, 16)}`;
  const standard = join(userCache('kgrid-activator'), name);
  for (let number = 1; ; number++) {
    const home =
      folder === undefined ? `${standard}${number === 1 ? '' : `-${String(number)}`}` : await realPath(resolve(folder));
    await requireWritable(home);
    try {
      return { ...(await placesIn(home, own(home, address, onWarning))), audit: undefined };
    } catch (thrown) {
      if (folder !== undefined || number === MOST_FOLDERS || !(thrown instanceof ShelfInUse)) throw thrown;
    }
  }
}

async function placesIn(home: string, owner?: Owner): Promise<StateFolder> {
  const spool = join(home, 'spool');
  try {
    await makeFolder(spool);
    await clearSpool(spool);
  } catch (thrown) {
    // A full disk can be written again one day; uploads then make the folder.
    if (!isFull(thrown)) {
      owner?.release();
      throw startRefused(`--state: the folder ${home} cannot be written (${reasonOf(thrown)})`, { cause: thrown });
    }
  }
  return {
    audit: join(home, 'audit'),
    knownPackages: join(home, 'known-packages'),
    notedHistory: join(home, 'noted-history'),
    cache: join(home, 'runtimes'),
    spool,
    copies: join(home, 'packages'),
    [Symbol.dispose]: () => owner?.release(),
  };
}

const nothingKept = (): StateFolder => ({
  audit: undefined,
  knownPackages: undefined,
  notedHistory: undefined,
  cache: userCache('kgrid-activator'),
  spool: tmpdir(),
  copies: join(userCache('kgrid-activator'), 'packages'),
  [Symbol.dispose]: () => undefined,
});

/** Of neither the packages nor the state may a part count as one of the other. @throws startRefused. */
function refuseMixture(home: string, shelf: string): void {
  if (isWithin(home, shelf))
    throw startRefused(
      `--state: ${home} lies in the shelf ${shelf}: give a folder outside of it, or leave --state out`,
    );
  if (existsSync(join(home, SHELF_HOME)))
    throw startRefused(`--state: ${home} is a shelf itself, with a folder ${SHELF_HOME}: give a folder of its own`);
  if (basename(home) === SHELF_HOME)
    throw startRefused(`--state: ${home} is of another shelf, ${dirname(home)}: give a folder of its own`);
  const part = ['audit', 'runtimes', 'spool'].find((name) => isWithin(shelf, join(home, name)));
  if (part !== undefined)
    throw startRefused(`--state: the shelf ${shelf} lies in the folder ${part} of ${home}, which is the service's own`);
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep);

async function requireWritable(home: string): Promise<void> {
  try {
    await makeFolder(home);
    await tryToWrite(home);
  } catch (thrown) {
    throw startRefused(`--state: the folder ${home} cannot be written: ${whyUnusable(thrown)}`, { cause: thrown });
  }
}

async function isWritable(home: string): Promise<boolean> {
  try {
    await makeFolder(home);
    await tryToWrite(home);
    return true;
  } catch (thrown) {
    if (isReadOnly(thrown) || isMissing(thrown)) return false;
    throw thrown;
  }
}

/** Also of what is not there yet. */
async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (thrown) {
    if (!isMissing(thrown) || dirname(path) === path) throw thrown;
    return join(await realPath(dirname(path)), basename(path));
  }
}
