/** Parts of archives that several tests need. */
import { constants, createDeflateRaw, crc32 } from 'node:zlib';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { koFiles } from './ko.ts';
import type { Files } from './ko.ts';
import { buildZip } from './zip-builder.ts';
import type { ArchiveSpec, EntrySpec, Headers } from './zip-builder.ts';

export const KO = koFiles();

/** The files as honest entries, deflated. */
export const entriesOf = (files: Files): EntrySpec[] =>
  Object.entries(files).map(([name, data]) => ({ name, data, method: 8 }));

/** A valid KO and more. */
export const koWith = (extra: readonly EntrySpec[], archive?: ArchiveSpec): Buffer =>
  buildZip([...entriesOf(KO), ...extra], archive);

/** A valid KO and one entry more. */
export const koAnd = (entry: EntrySpec): Buffer => koWith([entry]);

/** The KO in a folder, stored. */
export const inFolder = (folder: string): EntrySpec[] =>
  Object.entries(KO).map(([name, data]) => ({ name: `${folder}/${name}`, data }));

export const DATA = Buffer.from('some data, some data, some data');
/** What headers say of it when it is stored. */
export const CLAIMS = { crc: crc32(DATA), compressedSize: DATA.length, size: DATA.length };
/** What headers say of content that is not known yet. */
export const UNKNOWN = { crc: 0, compressedSize: 0, size: 0 };
/** The sentinel of 32 bits that points to zip64. */
export const LONG = 0xffffffff;

/** A valid KO and a file `x` with the data, written by a tool that cannot seek. */
export const streamed = (trailer: Buffer, local: Headers = UNKNOWN): Buffer =>
  koAnd({ name: 'x', data: DATA, flags: 8, local, trailer });

export type Compressed = Required<Pick<EntrySpec, 'raw' | 'crc' | 'size' | 'method'>>;

/** So many zero bytes, deflated, without ever holding them. */
export async function zeros(size: number): Promise<Compressed> {
  const block = Buffer.alloc(Math.min(size, 2 ** 20));
  let crc = 0;
  const blocks = function* (): Generator<Buffer> {
    for (let left = size; left > 0; left -= block.length) {
      const part = block.subarray(0, left);
      crc = crc32(part, crc);
      yield part;
    }
  };
  const raw = await buffer(Readable.from(blocks()).pipe(createDeflateRaw({ level: constants.Z_BEST_COMPRESSION })));
  return { raw, crc, size, method: 8 };
}
