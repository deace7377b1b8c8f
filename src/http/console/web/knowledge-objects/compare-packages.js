// Which files differ between two packages, and in which lines.
import { diffLines } from 'diff/line';
import { get, pathOf, send } from '../shared/api.js';
import { filePath } from '../shared/knowledge-object-data.js';
import { readText } from '../shared/package-file-text.js';

/** Bytes that are read to find out whether files of one size differ. */
const MOST_BYTES = 20_000_000;
const AT_ONCE = 6;
/** Of each of two texts. */
const MOST_TEXT_BYTES = 512 * 1024;
const MOST_MS = 700;
/** Lines around a change that are shown with it. */
const AROUND = 3;

async function digestOf(address, signal) {
  const response = await send('GET', address, { signal, headers: { accept: '*/*' } });
  const digest = await crypto.subtle.digest('SHA-256', await response.arrayBuffer());
  return new Uint8Array(digest).join(',');
}

const bytesOf = async (address, signal) => {
  const response = await send('GET', address, { signal, headers: { accept: '*/*' } });
  return new Uint8Array(await response.arrayBuffer());
};

/** A page that was not loaded by TLS has no digests. */
const areSame = async (addresses, signal) => {
  if (globalThis.crypto?.subtle !== undefined) {
    const [a, b] = await Promise.all(addresses.map((each) => digestOf(each, signal)));
    return a === b;
  }
  const [a, b] = await Promise.all(addresses.map((each) => bytesOf(each, signal)));
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
};

/** @returns {Promise<{path: string, change: string}[]>} */
export async function differingFiles(from, to, signal) {
  const [before, now] = await Promise.all(
    [from, to].map(async (id) => {
      const files = await get('doc/files/' + pathOf(id), { signal });
      return new Map(files.map(({ path, size }) => [path, size]));
    }),
  );
  /** @type {{path: string, change: string}[]} */
  const found = [...before.keys()].filter((path) => !now.has(path)).map((path) => ({ path, change: 'removed' }));
  const left = [];
  let bytes = 0;
  for (const [path, size] of now) {
    if (!before.has(path)) found.push({ path, change: 'added' });
    else if (before.get(path) !== size) found.push({ path, change: 'changed' });
    else if ((bytes += 2 * size) > MOST_BYTES) found.push({ path, change: 'not compared' });
    else left.push(path);
  }
  const look = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop())
      if (!(await areSame([filePath(from, path), filePath(to, path)], signal))) found.push({ path, change: 'changed' });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, look));
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Parts of a difference: lines that stay are left out but for those next to a change. */
function hunks(changes) {
  const lines = [];
  let [old, now] = [1, 1];
  changes.forEach(({ value, added, removed }, at) => {
    const all = value.replace(/\r?\n$/, '').split(/\r?\n/);
    const isSame = !added && !removed;
    const [head, tail] = [at === 0 ? 0 : AROUND, at === changes.length - 1 ? 0 : AROUND];
    all.forEach((text, i) => {
      const isNear = !isSame || i < head || i >= all.length - tail;
      if (isNear) lines.push({ kind: added ? '+' : removed ? '-' : ' ', old, now, text });
      else if (lines.at(-1)?.kind !== '…') lines.push({ kind: '…', old, now, text: '' });
      if (!added) old++;
      if (!removed) now++;
    });
  });
  return lines;
}

/** @returns {Promise<{lines?: {kind: string, old: number, now: number, text: string}[], why?: string}>} `why`: there are none */
export async function differingLines(from, to, { path, change }, signal) {
  const read = (id) => readText(filePath(id, path), signal, MOST_TEXT_BYTES);
  const none = { text: '', isCut: false };
  const [before, now] = await Promise.all([
    change === 'added' ? none : read(from),
    change === 'removed' ? none : read(to),
  ]);
  if (before.text === undefined || now.text === undefined) return { why: 'This is no text.' };
  if (before.isCut || now.isCut) return { why: 'It is too large to be compared line by line here.' };
  const changes = diffLines(before.text, now.text, { timeout: MOST_MS });
  return changes === undefined
    ? { why: 'So much differs that it takes too long to compare it line by line.' }
    : { lines: hunks(changes) };
}
