// Which files differ between two packages, and in which lines.
import { diffLines } from 'diff/line';
import { get, send } from '../shared/api.js';
import { readText } from '../shared/package-file-text.js';

/** Bytes that are read to find out whether files without a digest differ. */
const MOST_BYTES = 20_000_000;
/** Of each of two texts. */
const MOST_TEXT_BYTES = 512 * 1024;
const MOST_MS = 700;
/** Lines around a change that are shown with it. */
const AROUND = 3;

const bytesOf = async (address, signal) => {
  const response = await send('GET', address, { signal, headers: { accept: '*/*' } });
  return new Uint8Array(await response.arrayBuffer());
};

/**
 * @param {import('../shared/packages.js').Source} from
 * @param {import('../shared/packages.js').Source} to
 * @returns {Promise<{path: string, change: string}[]>}
 */
export async function differingFiles(from, to, signal) {
  const [before, now] = await Promise.all(
    [from, to].map(async ({ list }) => new Map((await get(list, { signal })).map((file) => [file.path, file]))),
  );
  /** @type {{path: string, change: string}[]} */
  const found = [...before.keys()].filter((path) => !now.has(path)).map((path) => ({ path, change: 'removed' }));
  let bytes = 0;
  for (const [path, { size, digest }] of now) {
    const old = before.get(path);
    if (old === undefined) found.push({ path, change: 'added' });
    else if (old.size !== size) found.push({ path, change: 'changed' });
    else if (digest !== undefined && old.digest !== undefined) {
      if (digest !== old.digest) found.push({ path, change: 'changed' });
    } else if ((bytes += 2 * size) > MOST_BYTES) found.push({ path, change: 'not compared' });
    else {
      const [a, b] = await Promise.all([from, to].map(({ file }) => bytesOf(file(path), signal)));
      if (a.some((byte, i) => byte !== b[i])) found.push({ path, change: 'changed' });
    }
  }
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
  const read = ({ file }) => readText(file(path), signal, MOST_TEXT_BYTES);
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
