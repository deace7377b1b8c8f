/** Writes a shelf folder as version 0.1 left it, and says what it holds. */
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesOf, metadataOf, type Files, type Id, type State } from './generations.ts';

/** What is on it, each in another way. */
export const ON_SHELF: ReadonlyMap<Id, State> = new Map([
  ['a/b/v1', { files: 2, metadata: 2 }],
  ['a/b/v2', { files: 3, metadata: 4 }],
  ['theirs/of/v1', { files: 5, metadata: 5 }],
]);

/** What was deleted or replaced and is kept, with the time and the reason. */
export const KEPT: ReadonlyMap<Id, State & { readonly at: number; readonly why: 'deleted' | 'replaced' }> = new Map([
  ['a/b/v1', { files: 1, metadata: 1, at: 1_795_000_000_000, why: 'replaced' }],
  ['c/d/v1', { files: 6, metadata: 6, at: 1_795_000_001_000, why: 'deleted' }],
  ['theirs/gone/v1', { files: 7, metadata: 7, at: 1_795_000_002_000, why: 'deleted' }],
]);

/** The audit: records from before there was a chain, and records in it. */
export const [OLDER, CHAINED] = [2, 5];
export const WRITER = '00000000-0000-4000-8000-000000000000';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const REMOVED = 'mine.2026-11-18T11-06-42.000Z.0123abcd';

export function writeOldShelf(dir: string): void {
  const home = join(dir, '.kgrid');
  for (const name of ['objects', 'index', 'kept', 'staging', 'spool']) mkdirSync(join(home, name), { recursive: true });
  for (const [id, state] of ON_SHELF) {
    if (id.startsWith('theirs')) {
      writeFiles(join(dir, 'mine'), wholeOf(id, state));
      continue;
    }
    const pointer = storePackage(home, id, state);
    const text = JSON.stringify(pointer, null, 1);
    writeFile(join(home, 'index', `${id.replaceAll('/', '-')}.json`), text);
    const record = JSON.stringify({ ...pointer, stored: '2026-11-18T11:06:42.000Z' }, null, 1);
    writeFile(join(home, 'objects', `${pointer.folder}.json`), record);
  }
  for (const [id, state] of KEPT) {
    const isOfPerson = id.startsWith('theirs');
    const pointer = isOfPerson ? pointerOf(id, state) : storePackage(home, id, state);
    if (isOfPerson) writeFiles(join(dir, '.removed', REMOVED), wholeOf(id, state));
    const place = isOfPerson ? 'exploded' : pointer.folder;
    const name = `${String(state.at).padStart(15, '0')}.${state.why}.${digestOf(wholeOf(id, state))}.${place}.json`;
    const text = JSON.stringify({ ...pointer, ...(isOfPerson && { removed: REMOVED }) }, null, 1);
    writeFile(join(home, 'kept', id.replaceAll('/', '-'), name), text);
  }
  writeAudit(join(home, 'audit'));
}

const wholeOf = (id: Id, { files, metadata }: State): Files => ({
  ...filesOf(id, files),
  'metadata.json': metadataOf(id, metadata),
});

/** What `sha256sum` prints for all files. */
const digestOf = (files: Files): string =>
  sha256(
    Object.keys(files)
      .sort()
      .map((path) => `${sha256(files[path] ?? '')}  ${path}\n`)
      .join(''),
  );

interface OldPointer {
  readonly folder: string;
  readonly [field: string]: unknown;
}

function pointerOf(id: Id, state: State): OldPointer {
  const files = filesOf(id, state.files);
  const metadata = metadataOf(id, state.metadata);
  const digest = digestOf(files);
  return {
    ...{ format: 1, id, digest, folder: `${digest}-00000000-0000-4000-8000-000000000000` },
    files: Object.keys(files)
      .sort()
      .map((path) => ({ path, size: (files[path] ?? '').length, sha256: sha256(files[path] ?? '') })),
    ...{ metadataSha256: sha256(metadata), metadata },
  };
}

function storePackage(home: string, id: Id, state: State): OldPointer {
  const pointer = pointerOf(id, state);
  writeFiles(join(home, 'objects', pointer.folder), filesOf(id, state.files));
  return pointer;
}

/** Its chain file does not know of the last record yet, as when the process is killed between the two. */
function writeAudit(folder: string): void {
  mkdirSync(folder);
  const file = join(folder, '000000000000001.jsonl');
  let [noted, hash] = ['', ''];
  for (let id = 1; id <= OLDER + CHAINED; id++) {
    const time = new Date(1_795_000_000_000 + id * 1000).toISOString();
    const record = { id, time, who: 'dev', login: 'dev', action: 'import', subject: 'a/b/v1', outcome: 'done' };
    if (id <= OLDER) {
      appendFileSync(file, `${JSON.stringify(record)}\n`);
      continue;
    }
    const body = JSON.stringify({ ...record, writer: WRITER, number: id - OLDER, previous: hash });
    [noted, hash] = [hash, sha256(body)];
    appendFileSync(file, `${body.slice(0, -1)},"hash":"${hash}"}\n`);
  }
  const end = { number: CHAINED - 1, hash: noted };
  const chain = { from: OLDER + 1, writer: WRITER, end, trimmed: { number: 0, hash: '' } };
  writeFile(join(folder, 'chain.json'), `${JSON.stringify(chain)}\n`);
}

function writeFiles(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) writeFile(join(folder, path), text);
}

function writeFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

if (import.meta.main) writeOldShelf(process.argv[2] ?? '.');
