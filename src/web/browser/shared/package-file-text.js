// Reads a file of a package as text, within bounds.
import { send } from './api.js';

export const MOST_BYTES = 256 * 1024;
const PICTURE = /\.(?:png|jpe?g|gif|webp|avif|svg)$/i;
const SIZES = ['bytes', 'kB', 'MB', 'GB'];

export const isPicture = (path) => PICTURE.test(path);

export function sizeOf(bytes) {
  const step = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), 3);
  return Number((bytes / 1000 ** step).toPrecision(2)) + ' ' + SIZES[step];
}

/** The text of bytes, which may end within a character; undefined where it is none. */
export function textOf(bytes, isCut) {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

/** `text` is undefined for what is no text. @returns {Promise<{text: string | undefined, isCut: boolean}>} */
export async function readText(address, signal, most = MOST_BYTES) {
  const response = await send('GET', address, { signal, headers: { accept: '*/*', range: 'bytes=0-' + (most - 1) } });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const [, all = bytes.length] = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  const isCut = Number(all) > bytes.length;
  return { text: textOf(bytes, isCut), isCut };
}
