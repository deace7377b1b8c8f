/**
 * Says what a shelf folder holds and what is wrong with it, without the store's code: only the layout is known.
 * As a program: `node test/crash/check-shelf.ts DIR`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { filesOf, generationOf, metadataOf, type Id, type State } from './generations.ts';
import type { Possible } from './journal.ts';

interface Pointer {
  readonly id: string;
  readonly digest: string;
  readonly folder: string;
  readonly files: readonly { readonly path: string; readonly size: number; readonly sha256: string }[];
  readonly metadataSha256: string;
  readonly metadata: string;
  /** Of what is kept of a folder of a person: its name in `.removed/`. */
  readonly removed?: string;
}

export interface Findings {
  readonly problems: string[];
  /** Files and metadata by KO, `metadata.json` included. */
  readonly packages: Map<Id, Map<string, string>>;
  /** Packages that were deleted or replaced and are kept, by KO. */
  readonly kept: Map<Id, Map<string, string>[]>;
  /** Folders below `objects/` that no entry refers to, records of such, and everything in `staging/`. */
  readonly leftovers: string[];
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

/** Verifies each package by its digests. */
export function checkShelf(dir: string): Findings {
  const stateFolder = join(dir, '.kgrid');
  const findings: Findings = { problems: [], packages: new Map(), kept: new Map(), leftovers: [] };
  const referred = new Set<string>();
  for (const folder of readdirSync(dir).filter((name) => !name.startsWith('.'))) {
    const found = contentOf(join(dir, folder));
    const { '@id': id } = JSON.parse(found.get('metadata.json') ?? '{}') as { '@id'?: string };
    findings.packages.set(id ?? folder, found);
    // It stays beside a package that was imported under its id.
    if (id !== undefined) findings.kept.set(id, [found]);
  }
  for (const name of listing(join(stateFolder, 'index'))) {
    try {
      const pointer = JSON.parse(readFileSync(join(stateFolder, 'index', name), 'utf8')) as Pointer;
      referred.add(pointer.folder);
      if (name !== `${pointer.id.replaceAll('/', '-')}.json`) findings.problems.push(`${name} is for ${pointer.id}`);
      findings.problems.push(...faults(pointer, contentOf(join(stateFolder, 'objects', pointer.folder))));
      const files = contentOf(join(stateFolder, 'objects', pointer.folder)).set('metadata.json', pointer.metadata);
      findings.packages.set(pointer.id, files);
    } catch (thrown) {
      findings.problems.push(`${name}: ${String(thrown)}`);
    }
  }
  readKept(dir, stateFolder, findings, referred);
  const unreferred = listing(join(stateFolder, 'objects')).filter((name) => !referred.has(name.replace(/\.json$/, '')));
  findings.leftovers.push(...listing(join(stateFolder, 'staging')), ...unreferred);
  return findings;
}

function readKept(dir: string, stateFolder: string, findings: Findings, referred: Set<string>): void {
  for (const name of listing(join(stateFolder, 'kept')).flatMap((folder) =>
    listing(join(stateFolder, 'kept', folder)).map((file) => join(folder, file)),
  )) {
    const pointer = JSON.parse(readFileSync(join(stateFolder, 'kept', name), 'utf8')) as Pointer;
    const { id, folder, removed, metadata } = pointer;
    if (removed === undefined) referred.add(folder);
    const place = removed === undefined ? join(stateFolder, 'objects', folder) : join(dir, '.removed', removed);
    // As a kill leaves it before the folder of a person is moved away.
    if (removed !== undefined && !existsSync(place)) continue;
    const content = contentOf(place);
    content.delete('metadata.json');
    findings.problems.push(...faults(pointer, content));
    findings.kept.set(id, [...(findings.kept.get(id) ?? []), content.set('metadata.json', metadata)]);
  }
}

/** Says how the files in a folder differ from what the pointer names. */
function faults(pointer: Pointer, found: Map<string, string>): string[] {
  const { id, files, digest, metadata, metadataSha256 } = pointer;
  const problems: string[] = [];
  for (const { path, size, sha256: expected } of files) {
    const text = found.get(path);
    if (text === undefined) problems.push(`${id}: ${path} is missing`);
    else if (Buffer.byteLength(text) !== size || sha256(text) !== expected) problems.push(`${id}: ${path} differs`);
  }
  const named = new Set(files.map(({ path }) => path));
  problems.push(...[...found.keys()].filter((path) => !named.has(path)).map((path) => `${id}: ${path} is not named`));
  if (sha256(metadata) !== metadataSha256) problems.push(`${id}: the metadata differ`);
  const lines = files.map((file) => `${file.sha256}  ${file.path}\n`);
  if (sha256(lines.sort((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join('')) !== digest) {
    problems.push(`${id}: the digest differs`);
  }
  return problems;
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
