/** In what two packages of a knowledge object differ, file by file. */
import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { type KoSource, readSource } from '../../src/check/ko-source.ts';
import { METADATA_FILE } from '../../src/knowledge-object/metadata.ts';
import { escapeForMessage } from '../../src/lib/text.ts';
import type { Terminal } from './terminal.ts';

export interface FileDifference {
  readonly path: string;
  /** `added`: only the new package has it; `removed`: only the old one. */
  readonly kind: 'added' | 'removed' | 'changed';
}

/** Sorted by path. Metadata are the same when they are the same JSON. */
export async function packageDifferences(before: KoSource, after: KoSource): Promise<FileDifference[]> {
  const paths = [...new Set([...before.files.keys(), ...after.files.keys()])].sort();
  const found: FileDifference[] = [];
  for (const path of paths) {
    const [old, now] = [before.files.get(path), after.files.get(path)];
    if (old === undefined) found.push({ path, kind: 'added' });
    else if (now === undefined) found.push({ path, kind: 'removed' });
    else if (!(await isSame(path, before, after))) found.push({ path, kind: 'changed' });
  }
  return found;
}

async function isSame(path: string, before: KoSource, after: KoSource): Promise<boolean> {
  const couldBe = path === METADATA_FILE || before.files.get(path)?.size === after.files.get(path)?.size;
  if (!couldBe) return false;
  const [old, now] = await Promise.all([readSource(before, path), readSource(after, path)]);
  return old.equals(now) || (path === METADATA_FILE && isDeepStrictEqual(asJson(old), asJson(now)));
}

/** The bytes themselves where they are no JSON. */
function asJson(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8')) as unknown;
  } catch {
    return content;
  }
}

const MAX_TEXT_BYTES = 512 * 1024;
/** Milliseconds, and lines that differ: beyond either, only that the file differs is said. */
const MOST_WORK = { timeout: 2000, maxEditLength: 20_000 };

/** A unified diff of one file, as lines; undefined where it is no text, or too large to compare line by line. */
export async function textDifference(
  { path, kind }: FileDifference,
  before: KoSource,
  after: KoSource,
): Promise<string[] | undefined> {
  const old = kind === 'added' ? '' : await textOf(before, path);
  const now = kind === 'removed' ? '' : await textOf(after, path);
  if (old === undefined || now === undefined) return undefined;
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff');
  const names = [
    kind === 'added' ? '/dev/null' : `${before.label}/${path}`,
    kind === 'removed' ? '/dev/null' : `${after.label}/${path}`,
  ] as const;
  const patch = createTwoFilesPatch(...names, old, now, undefined, undefined, {
    ...MOST_WORK,
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  });
  return patch?.replace(/\n$/, '').split('\n');
}

async function textOf(source: KoSource, path: string): Promise<string | undefined> {
  if ((source.files.get(path)?.size ?? 0) > MAX_TEXT_BYTES) return undefined;
  const content = await readSource(source, path);
  if (!isUtf8(content) || content.includes(0)) return undefined;
  // In one order and form, so that only what they say differs.
  const json = path === METADATA_FILE ? asJson(content) : content;
  return json === content || Buffer.isBuffer(json)
    ? content.toString('utf8')
    : `${JSON.stringify(withSortedKeys(json), null, 2)}\n`;
}

function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, withSortedKeys(each)]));
}

export function printDifferences(found: readonly FileDifference[], terminal: Terminal): void {
  for (const { path, kind } of found)
    terminal.print(`  ${terminal[STYLE[kind]](kind.padEnd(7))}  ${escapeForMessage(path)}`);
}

const STYLE = { added: 'good', removed: 'bad', changed: 'warning' } as const;

/** A unified diff. */
export function printPatch(patch: readonly string[], terminal: Terminal): void {
  terminal.print();
  let inHunk = false;
  for (const line of patch) {
    inHunk ||= line.startsWith('@@');
    if (!inHunk) terminal.print(terminal.bold(line));
    else if (line.startsWith('+')) terminal.print(terminal.good(line));
    else if (line.startsWith('-')) terminal.print(terminal.bad(line));
    else terminal.print(line.startsWith('@@') ? terminal.dim(line) : line);
  }
}
