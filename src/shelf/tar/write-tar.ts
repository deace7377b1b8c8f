import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { BLOCK_BYTES } from './header.ts';

export interface TarSource {
  /** A checked relative path with `/` between its segments. */
  readonly path: string;
  /** Bytes of the content. */
  readonly size: number;
  readonly content: Buffer | (() => Promise<Readable>);
}

const MAX_NAME_BYTES = 100;
const MODE = 0o644;
const END = Buffer.alloc(2 * BLOCK_BYTES);

/**
 * A `.tar.gz` of these files, as a stream that is made while it is read. Equal files always give equal bytes: they are in
 * order of path, of no time and of nobody. The stream fails when one of the files does.
 */
export function writeTarGz(files: readonly TarSource[]): Readable {
  const gzip = createGzip();
  const tar = Readable.from(tarOf(files), { objectMode: false });
  tar.once('error', (error) => gzip.destroy(error));
  gzip.once('close', () => tar.destroy());
  return tar.pipe(gzip);
}

async function* tarOf(files: readonly TarSource[]): AsyncGenerator<Buffer> {
  for (const { path, size, content } of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const name = Buffer.from(path);
    // Beyond that, and beyond ASCII, names stand in an extended header.
    const isPlain = name.length <= MAX_NAME_BYTES && /^[\x20-\x7e]*$/.test(path);
    if (!isPlain) {
      const record = paxRecord('path', name);
      yield header(Buffer.from('PaxHeader'), record.length, 'x');
      yield padded(record);
    }
    yield header(
      isPlain ? name : Buffer.from(path.replaceAll(/[^\x20-\x7e]/g, '_').slice(0, MAX_NAME_BYTES)),
      size,
      '0',
    );
    let written = 0;
    for await (const chunk of Buffer.isBuffer(content) ? [content] : await content()) {
      written += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
    if (written !== size) throw new Error(`${path} has ${written} bytes and not ${size}: it was changed meanwhile`);
    yield padding(size);
  }
  yield END;
}

/** One block, as POSIX has it. */
function header(name: Buffer, size: number, type: string): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  name.copy(block);
  const number = (value: number, at: number, length: number): void =>
    void block.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1');
  number(MODE, 100, 8);
  number(0, 108, 8);
  number(0, 116, 8);
  number(size, 124, 12);
  number(0, 136, 12);
  block.fill(' ', 148, 156);
  block.write(type, 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

/** "%d %s=%s\n", where the number is the length of all of it. */
function paxRecord(key: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

const padding = (size: number): Buffer => Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
const padded = (data: Buffer): Buffer => Buffer.concat([data, padding(data.length)]);
