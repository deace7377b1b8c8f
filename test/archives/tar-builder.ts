/** Writes tar files byte by byte, so that a test can make each of their fields lie. */
import { gzipSync } from 'node:zlib';
import type { Files } from './ko.ts';

/** One entry; what is not given is made as an honest tool would. */
export interface TarSpec {
  name: string | Buffer;
  data?: Buffer | string;
  /** A letter; `0`, or `5` where the name ends with `/`. */
  type?: string;
  size?: number | Buffer;
  checksum?: number;
  prefix?: string;
  magic?: string;
  link?: string;
  /** Bytes put into the header before it gets its checksum. */
  bytes?: readonly (readonly [at: number, bytes: Buffer])[];
}

const BLOCK = 512;

export const padded = (data: Buffer): Buffer =>
  Buffer.concat([data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)]);

/** Header and data. */
export function tarEntry(spec: TarSpec): Buffer {
  const { name, type = String(name).endsWith('/') ? '5' : '0', prefix = '', link = '', magic = 'ustar\x0000' } = spec;
  const data = Buffer.from(spec.data ?? '');
  const header = Buffer.alloc(BLOCK);
  header.write('0000644\x000000000\x000000000\0', 100, 'latin1');
  const { size = data.length } = spec;
  if (typeof size === 'number') header.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  else size.copy(header, 124);
  header.write('00000000000\0', 136, 'latin1');
  header.write(type, 156, 'latin1');
  header.write(link, 157);
  header.write(magic, 257, 'latin1');
  header.write(prefix, 345);
  Buffer.from(name).copy(header, 0, 0, 100);
  for (const [at, bytes] of spec.bytes ?? []) bytes.copy(header, at);
  header.fill(' ', 148, 156);
  const sum = spec.checksum ?? header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, padded(data)]);
}

/** Zeros as `tar` writes them. */
export const END = Buffer.alloc(2 * BLOCK);

export const buildTar = (entries: readonly TarSpec[], end: Buffer = END): Buffer =>
  Buffer.concat([...entries.map(tarEntry), end]);

export const buildTarGz = (entries: readonly TarSpec[], end?: Buffer): Buffer => gzipSync(buildTar(entries, end));

/** A record of an extended header. */
export function paxRecord(key: string, value: string | Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

export const pax = (records: Readonly<Record<string, string | Buffer>>, type = 'x'): TarSpec => ({
  name: 'PaxHeaders/x',
  type,
  data: Buffer.concat(Object.entries(records).map(([key, value]) => paxRecord(key, value))),
});

export const gnuLong = (name: string, type = 'L'): TarSpec => ({ name: '././@LongLink', type, data: `${name}\0` });

export const tarEntriesOf = (files: Files, folder = ''): TarSpec[] =>
  Object.entries(files).map(([name, data]) => ({ name: `${folder}${name}`, data }));
