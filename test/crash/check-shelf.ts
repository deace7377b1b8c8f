/**
 * Says what a shelf folder holds and what is wrong with it, without the store's code: only the layout is known.
 * As a program: `node test/crash/check-shelf.ts DIR`.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { filesOf, generationOf, metadataOf, type Id, type State } from './generations.ts';
import type { Possible } from './journal.ts';

export interface Findings {
  readonly problems: string[];
  /** Files and metadata by KO, `metadata.json` included. */
  readonly packages: Map<Id, Map<string, string>>;
  /** Packages that were deleted or replaced and are retained, by KO. */
  readonly kept: Map<Id, Map<string, string>[]>;
  /** Objects that no row names, and everything in `staging/`. */
  readonly leftovers: string[];
}

interface Rows {
  readonly ko: readonly { id: string; digest: string; listing: string; metadata: string }[];
  /** What people put on the shelf as folders. */
  readonly folders: readonly { digest: string }[];
  readonly retained: readonly { id: string; digest: string; listing: string }[];
  readonly package: readonly { digest: string; files: string }[];
}

/** Path, bytes, sha256. */
type FileRow = readonly [string, number, string];

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

/** Verifies each row by its digests, and each object by its name. */
export function checkShelf(dir: string): Findings {
  const findings: Findings = { problems: [], packages: new Map(), kept: new Map(), leftovers: [] };
  for (const folder of readdirSync(dir).filter((name) => !name.startsWith('.'))) {
    const found = contentOf(join(dir, folder));
    const { '@id': id } = JSON.parse(found.get('metadata.json') ?? '{}') as { '@id'?: string };
    findings.packages.set(id ?? folder, found);
    // It stays beside a package that was imported under its id.
    if (id !== undefined) findings.kept.set(id, [found]);
  }
  const state = join(dir, '.kgrid');
  const objects = objectsIn(join(state, 'objects'), findings);
  const named = checkRows(rowsIn(join(state, 'shelf.db')), objects, findings);
  const unnamed = [...objects.keys()].filter((digest) => !named.has(digest));
  findings.leftovers.push(...listing(join(state, 'staging')), ...unnamed);
  return findings;
}

/** By their names. */
function objectsIn(folder: string, { problems }: Findings): Map<string, string> {
  const objects = new Map<string, string>();
  for (const [path, text] of contentOf(folder)) {
    const [, part, digest] = /^([0-9a-f]{2})\/([0-9a-f]{64})(?:\.package|\.retained)?$/.exec(path) ?? [];
    if (digest === undefined || !digest.startsWith(part ?? '')) problems.push(`objects/${path} is not the name of one`);
    else if (sha256(text) !== digest) problems.push(`objects/${path} is not what its name says`);
    else objects.set(digest, text);
  }
  return objects;
}

/** @returns the digests of the objects that rows name. */
function checkRows(rows: Rows, objects: Map<string, string>, { problems, packages, kept }: Findings): Set<string> {
  const named = new Set<string>();
  const stored = new Map<string, { rows: FileRow[]; content: Map<string, string> }>();
  const used = new Set([...rows.ko, ...rows.folders, ...rows.retained].map(({ digest }) => digest));
  for (const { digest, files } of rows.package) {
    const fileRows = JSON.parse(files) as FileRow[];
    const content = new Map<string, string>();
    for (const [path, size, object] of fileRows) {
      named.add(object);
      const text = objects.get(object);
      if (text === undefined || Buffer.byteLength(text) !== size)
        problems.push(`${digest}: ${path} is not there whole`);
      else content.set(path, text);
    }
    const lines = fileRows.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([path, , object]) => `${object}  ${path}\n`);
    if (sha256(lines.join('')) !== digest) problems.push(`${digest}: the digest differs`);
    if (!used.has(digest)) problems.push(`${digest}: a package of no row`);
    stored.set(digest, { rows: fileRows, content });
  }
  const packageOf = (id: string, digest: string, list: string): Map<string, string> => {
    named.add(list);
    const found = stored.get(digest);
    if (found === undefined) problems.push(`${id} names a package that is not there: ${digest}`);
    const said = JSON.parse(objects.get(list) ?? '{}') as { id?: string; files?: unknown };
    if (said.id !== id || JSON.stringify(said.files) !== JSON.stringify(found?.rows))
      problems.push(`${id}: the listing ${list} is not that of its package`);
    return found?.content ?? new Map<string, string>();
  };
  for (const { id, digest, listing: list, metadata } of rows.ko) {
    const found = packageOf(id, digest, list);
    if (found.get('metadata.json') !== metadata) problems.push(`${id}: the metadata differ`);
    packages.set(id, found);
  }
  for (const { id, digest, listing: list } of rows.retained)
    kept.set(id, [...(kept.get(id) ?? []), packageOf(id, digest, list)]);
  return named;
}

function rowsIn(file: string): Rows {
  if (!existsSync(file)) return { ko: [], folders: [], retained: [], package: [] };
  // What the killed process left is not changed: it is the store that has to cope with it.
  const copy = mkdtempSync(join(tmpdir(), 'kgrid-'));
  try {
    for (const part of ['', '-wal', '-journal'].filter((each) => existsSync(file + each)))
      copyFileSync(file + part, join(copy, `shelf.db${part}`));
    return rowsOf(join(copy, 'shelf.db'));
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function rowsOf(file: string): Rows {
  using database = new DatabaseSync(file);
  const of = <T>(sql: string): T[] => database.prepare(sql).all() as T[];
  const tables = of<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`).map(({ name }) => name);
  const rows = <T>(table: string, sql: string): T[] => (tables.includes(table) ? of<T>(sql) : []);
  return {
    ko: rows('ko', 'SELECT id, digest, listing, metadata FROM ko WHERE removed = 0 AND folder IS NULL'),
    folders: rows('ko', 'SELECT digest FROM ko WHERE removed = 0 AND folder IS NOT NULL'),
    retained: rows('retained', 'SELECT id, digest, listing FROM retained'),
    package: rows('package', 'SELECT digest, files FROM package WHERE stored > 0'),
  };
}

function contentOf(folder: string): Map<string, string> {
  if (!existsSync(folder)) return new Map();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path, 'utf8')]));
}

const listing = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

export interface Verdict {
  readonly problems: string[];
  /** The state of each KO that the journal names. */
  readonly states: Map<Id, State | null>;
}

/** Compares what was found with what a journal allows: nothing acknowledged is lost, nothing is mixed. */
export function judge({ problems, packages }: Findings, possible: Possible): Verdict {
  const verdict: Verdict = { problems: [...problems], states: new Map() };
  for (const [id, states] of possible) {
    const found = packages.get(id);
    const fitting = states.filter((state) => (state && found ? isWhole(id, state, found) : !state && !found));
    if (fitting[0] !== undefined) verdict.states.set(id, fitting[0]);
    else verdict.problems.push(`${id} is ${found ? describe(found) : 'missing'}, not ${JSON.stringify(states)}`);
  }
  for (const id of packages.keys()) if (!possible.has(id)) verdict.problems.push(`${id} was never imported`);
  return verdict;
}

/** The KOs of which the state before is neither kept nor there. */
export function lostOf({ packages, kept }: Findings, previous: ReadonlyMap<Id, State>): Id[] {
  return [...previous].flatMap(([id, state]) => {
    const found = [packages.get(id) ?? new Map<string, string>(), ...(kept.get(id) ?? [])];
    return found.some((each) => isWhole(id, state, each)) ? [] : [id];
  });
}

function isWhole(id: Id, { files, metadata }: State, found: ReadonlyMap<string, string>): boolean {
  const expected = new Map(Object.entries({ ...filesOf(id, files), 'metadata.json': metadataOf(id, metadata) }));
  return found.size === expected.size && [...expected].every(([path, text]) => found.get(path) === text);
}

const describe = (found: ReadonlyMap<string, string>): string =>
  [...found]
    .map(([path, text]) => `${path}: ${path === 'metadata.json' ? String(generationOf(text)) : text.split('\n')[0]}`)
    .join(', ');

if (import.meta.main) {
  const { problems, packages, leftovers } = checkShelf(process.argv[2] ?? '.');
  for (const problem of problems) console.log(problem);
  console.log(
    `${String(packages.size)} packages, ${String(problems.length)} problems, ${String(leftovers.length)} leftovers`,
  );
  process.exitCode = problems.length > 0 ? 1 : 0;
}
