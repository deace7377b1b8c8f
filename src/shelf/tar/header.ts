import { nameProblem } from '../zip/entry-rules.ts';
import { refusalsOf } from '../archive/archive.ts';

export const BLOCK_BYTES = 512;

const refused = refusalsOf('tar');

/** One header block, whose checksum is right. */
export interface Header {
  /** As it stands there; for messages. */
  readonly shown: string;
  /** One letter. */
  readonly type: string;
  readonly size: number;
  /** Of POSIX and GNU headers alike. */
  readonly name: Buffer;
}

const MAGIC_AT = 257;
const POSIX = 'ustar\0';
const GNU = 'ustar ';
const CHECKSUM_AT = 148;
const CHECKSUM_BYTES = 8;
const SPACE = 0x20;

export const isTar = (head: Buffer): boolean =>
  head.length === BLOCK_BYTES && [POSIX, GNU].includes(head.toString('latin1', MAGIC_AT, MAGIC_AT + 6));

export const isZero = (block: Buffer): boolean => block.every((byte) => byte === 0);

/** @throws importRefused where it is none that all readers understand alike. */
export function readHeader(block: Buffer): Header {
  const [shown = ''] = block.toString('latin1', 0, 100).split('\0', 1);
  if (!isTar(block)) throw refused.archive('is damaged, or no tar: a header is none');
  const sum = block.reduce(
    (all, byte, at) => all + (at >= CHECKSUM_AT && at < CHECKSUM_AT + CHECKSUM_BYTES ? SPACE : byte),
    0,
  );
  if (octal(block, CHECKSUM_AT, CHECKSUM_BYTES) !== sum)
    throw refused.entry(shown, 'is damaged: its header is not what its checksum says');
  const size = octal(block, 124, 12);
  if (size === undefined) throw refused.entry(shown, 'has a size that is no octal number of up to 8 GB');
  const isPosix = block.toString('latin1', MAGIC_AT, MAGIC_AT + 6) === POSIX;
  const name = textField(block, 0, 100);
  const prefix = isPosix ? textField(block, 345, 155) : NOTHING;
  if (name === undefined || prefix === undefined) throw refused.entry(shown, 'has bytes behind the end of its name');
  return {
    shown,
    type: block.toString('latin1', 156, 157),
    size,
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from('/'), name]),
  };
}

const NOTHING = Buffer.alloc(0);

/** Up to the first NUL; undefined where something else stands behind that. */
function textField(block: Buffer, at: number, length: number): Buffer | undefined {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  if (end < 0) return Buffer.from(field);
  return isZero(field.subarray(end)) ? Buffer.from(field.subarray(0, end)) : undefined;
}

const OCTAL = /^ *([0-7]{1,12})[ \0]*$/;

function octal(block: Buffer, at: number, length: number): number | undefined {
  const found = OCTAL.exec(block.toString('latin1', at, at + length));
  return found === null ? undefined : Number.parseInt(found[1] ?? '', 8);
}

/**
 * The name of an entry, which ends with `/` for a folder; empty for the root itself. A leading `./`, as `tar -C folder .`
 * writes it, says nothing. @throws importRefused.
 */
export function entryName(raw: Buffer, isFolder: boolean): string {
  let name: string;
  try {
    name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(raw);
  } catch (cause) {
    throw refused.entry(raw.toString('latin1'), 'has a name that is not valid UTF-8', cause);
  }
  if (isFolder && (name === '.' || name === './')) return '';
  const plain = name.startsWith('./') ? name.slice(2) : name;
  const whole = isFolder && !plain.endsWith('/') ? `${plain}/` : plain;
  const problem = nameProblem(whole, 'tar');
  if (problem !== undefined) throw refused.entry(name, problem);
  return whole;
}
