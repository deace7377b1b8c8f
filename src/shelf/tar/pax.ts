import { refusalsOf } from '../archive/archive.ts';
import type { Header } from './header.ts';

const refused = refusalsOf('tar');

/** What an extended header of POSIX says of the next entry that matters here. */
export interface Extended {
  readonly path?: Buffer;
}

const LINE_FEED = 0x0a;
const UTF8 = 'ISO-IR 10646 2000 UTF-8';

/** "%d %s=%s\n", the length of the whole record first. @throws importRefused for what changes what an entry is. */
export function readExtended({ shown, size: headerSize, type }: Header, data: Buffer, next?: Header): Extended {
  const refuse = (why: string): never => {
    throw refused.entry(next?.shown ?? shown, why);
  };
  const found = new Map<string, Buffer>();
  for (let at = 0; at < headerSize;) {
    const [, length = '', key = ''] = RECORD.exec(data.toString('latin1', at, at + MAX_KEY_BYTES)) ?? [];
    const end = at + Number(length);
    const value = data.subarray(at + length.length + key.length + 2, end - 1);
    if (key === '' || end > data.length || value.length + length.length + key.length + 3 !== Number(length))
      return refuse('has a damaged extended header');
    if (data[end - 1] !== LINE_FEED) return refuse('has a damaged extended header');
    if (found.has(key)) return refuse(`has an extended header that says ${key} twice`);
    found.set(key, value);
    at = end;
  }
  if (type === 'g') {
    for (const key of found.keys())
      if (key !== 'comment') refuse(`is a global header that says ${key} of all entries: make the tar without it`);
    return {};
  }
  const text = (key: string): string | undefined => found.get(key)?.toString('latin1');
  for (const key of found.keys()) {
    if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize') refuse(SPARSE);
    if (key === 'linkpath') refuse('is a link: only files and folders can be stored');
  }
  if (![undefined, UTF8].includes(text('hdrcharset'))) refuse('has a name that is not UTF-8');
  // Only sizes beyond 8 GB need it, and readers differ in which of two they take.
  if (next !== undefined && ![undefined, String(next.size)].includes(text('size'))) refuse('has two different sizes');
  const path = found.get('path');
  return path === undefined ? {} : { path };
}

export const SPARSE = 'is a sparse file: make the tar without --sparse';
const MAX_KEY_BYTES = 300;
const RECORD = /^([1-9]\d{0,6}) ([^=\n\0]{1,200})=/;
