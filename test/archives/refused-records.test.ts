/** Archives whose records lie, contradict each other or describe more than they hold. */
import { after, test } from 'node:test';
import { Bench } from './bench.ts';
import { deflateRawSync } from 'node:zlib';
import { koFiles, zipOf } from './ko.ts';
import { CLAIMS, DATA, KO, LONG, UNKNOWN, koAnd, koWith, streamed, zeros } from './parts.ts';
import { buildZip, dataDescriptor, extraField, unicodePath, u32, zip64Extra } from './zip-builder.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());

const bomb99 = await zeros(99 * 2 ** 20);
const slow = await zeros(30 * 2 ** 20);
const contradicts = /headers that contradict each other/;
const stray = /bytes between its entries that belong to none/;

const refused: [string, Buffer, RegExp][] = [
  ['many bombs', koWith(Array.from({ length: 5 }, (_, i) => ({ ...bomb99, name: `b${i}` }))), /unpacks to/],
  [
    '300 MB and more in honest sizes',
    koWith(
      Array.from({ length: 4 }, (_, i) => ({
        name: `b${i}`,
        method: 8,
        raw: Buffer.alloc(600_000),
        size: 90 * 2 ** 20,
      })),
    ),
    /zip file unpacks to 360\.\d MB; a package may have 300 MB/,
  ],
  [
    'a bomb that says it is small',
    koWith([{ ...bomb99, size: 2 ** 20, name: 'b' }]),
    /"b" is larger than the 1048576 bytes/,
  ],
  ['a bomb that says it is no bomb', koWith([{ ...slow, size: 9 * 2 ** 20, name: 'b' }]), /is larger than/],
  [
    'a file that is shorter than it says',
    koWith([{ name: 'x', data: DATA, method: 8, size: 1000 }]),
    /"x" has 31 bytes, but its header says 1000/,
  ],
  [
    'a stored file of two sizes',
    koAnd({ name: 'x', data: DATA, size: 5 }),
    /"x" is stored as it is but has two different sizes/,
  ],
  ['an empty file with a CRC', koAnd({ name: 'x', crc: 7 }), /CRC/],
  [
    'a damaged deflate stream',
    koAnd({ name: 'x', data: DATA, method: 8, raw: Buffer.from('\xff\xff\xff\xff', 'latin1') }),
    /"x" is damaged: it cannot be unpacked/,
  ],
  [
    'a cut deflate stream',
    koAnd({ name: 'x', data: DATA, method: 8, raw: deflateRawSync(DATA).subarray(0, 5) }),
    /"x" is damaged: it cannot be unpacked/,
  ],
  [
    'bytes behind a deflate stream',
    koAnd({ name: 'x', data: DATA, method: 8, raw: Buffer.concat([deflateRawSync(DATA), DATA]) }),
    /bytes behind its compressed data/,
  ],
  ['deflate64', koAnd({ name: 'x', data: DATA, method: 9 }), /compressed by deflate64/],
  ['zstd', koAnd({ name: 'x', data: DATA, method: 93 }), /compressed by zstd/],
  ['an unknown method', koAnd({ name: 'x', data: DATA, method: 777 }), /compressed by method 777/],
  ['AES', koAnd({ name: 'x', data: DATA, method: 99, flags: 1 }), /is encrypted/],
  ['strong encryption', koAnd({ name: 'x', data: DATA, flags: 0x41 }), /encrypt/],
  ['masked headers', koAnd({ name: 'x', data: DATA, flags: 0x2000 }), /is encrypted/],
  ['patched data', koAnd({ name: 'x', data: DATA, flags: 0x20 }), /is a patch/],
  ['a local header of another method', koAnd({ name: 'x', data: DATA, local: { method: 8 } }), contradicts],
  ['a local header of another CRC', koAnd({ name: 'x', data: DATA, local: { crc: 1 } }), contradicts],
  ['a local header of another size', koAnd({ name: 'x', data: DATA, local: { size: 1 } }), contradicts],
  [
    'a local header of another compressed size',
    koAnd({ name: 'x', data: DATA, local: { compressedSize: 1 } }),
    contradicts,
  ],
  ['a local header of size 0', koAnd({ name: 'x', data: DATA, local: UNKNOWN }), contradicts],
  ['a local header that is encrypted', koAnd({ name: 'x', data: DATA, local: { flags: 1 } }), contradicts],
  [
    'a local header of another zip64 size',
    koAnd({ name: 'x', data: DATA, local: { size: LONG, compressedSize: LONG, extra: zip64Extra(DATA.length, 1) } }),
    contradicts,
  ],
  ['a local header with a longer name', koAnd({ name: 'x', data: DATA, local: { name: 'xy' } }), contradicts],
  [
    'a local header of another Unicode name',
    koAnd({ name: 'x', data: DATA, local: { extra: unicodePath('x', '../evil') } }),
    contradicts,
  ],
  [
    'damaged local extra fields',
    koAnd({ name: 'x', data: DATA, local: { extra: Buffer.from([1, 0, 99, 0, 0]) } }),
    /damaged extra fields/,
  ],
  [
    'damaged central extra fields',
    koAnd({ name: 'x', data: DATA, central: { extra: Buffer.from([1, 0, 99, 0, 0]) } }),
    /cannot be read/,
  ],
  [
    'two names that both are Unicode',
    koAnd({ name: 'x', data: DATA, flags: 0x800, extra: unicodePath('x', 'y') }),
    /two different names/,
  ],
  [
    'a Unicode path that is not UTF-8',
    koAnd({ name: 'x', data: DATA, extra: unicodePath('x', Buffer.from([0x61, 0xff])) }),
    /not valid UTF-8/,
  ],
  [
    'an overlong UTF-8 slash',
    koAnd({ name: Buffer.from([0x2e, 0x2e, 0xc0, 0xaf, 0x61]), data: DATA, flags: 0x800 }),
    /not valid UTF-8/,
  ],
  ['a wrong descriptor', streamed(dataDescriptor({ ...CLAIMS, crc: 1 })), /something else than its data descriptor/],
  [
    'a descriptor of another size',
    streamed(dataDescriptor({ ...CLAIMS, size: 1 })),
    /something else than its data descriptor/,
  ],
  ['a descriptor nobody promised', koAnd({ name: 'x', data: DATA, trailer: dataDescriptor(CLAIMS) }), stray],
  ['a missing descriptor', streamed(Buffer.alloc(0)), contradicts],
  ['too long a descriptor', streamed(Buffer.alloc(5_000)), /something else than its data descriptor/],
  ['a hidden local entry', koWith([{ name: 'hidden', data: DATA, withoutCentral: true }, { name: 'x' }]), stray],
  ['a hidden last entry', koWith([{ name: 'hidden', data: DATA, withoutCentral: true }]), stray],
  ['bytes between two entries', koWith([{ name: 'x', gap: Buffer.alloc(4) }]), stray],
  ['bytes before the directory', koWith([], { beforeDirectory: Buffer.alloc(4) }), stray],
  [
    'bytes behind the directory',
    koWith([], { afterDirectory: Buffer.alloc(4) }),
    /central directory where its end record says/,
  ],
  [
    'a directory of another size',
    koWith([], { end: { directorySize: 1 } }),
    /central directory where its end record says/,
  ],
  [
    'a directory that starts later',
    koWith([], { end: { directoryOffset: 1, directorySize: 1 } }),
    /central directory where/,
  ],
  [
    'a directory beyond the file',
    koWith([], { end: { directoryOffset: LONG, directorySize: LONG } }),
    /central directory where/,
  ],
  [
    'an entry that is in the directory twice',
    koWith([{ name: 'x', data: DATA, offset: 0, withoutLocal: true }]),
    /overlaps|contradict/,
  ],
  [
    'one local entry under two names',
    koWith([{ name: 'x', data: DATA, method: 8, withoutLocal: true, offset: 0 }]),
    /overlaps/,
  ],
  [
    'an entry that points into the directory',
    koAnd({ name: 'x', data: DATA, offset: 1_300, withoutLocal: true }),
    /overlaps|outside|no readable header/,
  ],
  ['an entry that points at the directory', directoryAsEntry(), /no readable header/],
  [
    'an entry that points beyond the file',
    koAnd({ name: 'x', data: DATA, offset: 0xfffffff0, withoutLocal: true }),
    /lies outside the data/,
  ],
  [
    'an entry of zip64 that points to 2^60',
    koAnd({ name: 'x', data: DATA, offset: LONG, withoutLocal: true, central: { extra: zip64Extra(2n ** 60n) } }),
    /lies outside the data/,
  ],
  [
    'an entry that reaches into the directory',
    koWith([{ name: 'x', raw: Buffer.from('a'), size: 60, compressedSize: 60, crc: 1 }]),
    /reaches into the central directory/,
  ],
  [
    'an entry that reaches into the next',
    koWith([
      { name: 'x', raw: Buffer.from('a'), size: 60, compressedSize: 60, crc: 1 },
      { name: 'y', data: Buffer.alloc(90) },
    ]),
    /overlaps another entry/,
  ],
  [
    'a size of zip64 that is not there',
    koAnd({ name: 'x', data: DATA, central: { size: LONG } }),
    /unpacks to|two different sizes/,
  ],
  [
    'a field of zip64 that is too short',
    koAnd({ name: 'x', data: DATA, central: { size: LONG, extra: extraField(1, Buffer.alloc(4)) } }),
    /cannot be read/,
  ],
  ['a first disk of several', koWith([], { end: { disk: 1 } }), /one part of several/],
  ['a directory on another disk', koWith([], { end: { directoryDisk: 1 } }), /one part of several/],
  ['some entries on another disk', koWith([], { end: { entriesOnDisk: 1 } }), /one part of several/],
  ['zip64: another disk', koWith([], { zip64: { disk: 1 } }), /one part of several/],
  ['zip64: several disks', koWith([], { zip64: { disks: 2 } }), /one part of several/],
  ['zip64: another count', koWith([], { zip64: { entries: 3, entriesOnDisk: 3 } }), /contradict each other/],
  ['zip64: another offset', koWith([], { zip64: { directoryOffset: 0 } }), /contradict each other/],
  [
    'zip64: an offset of 2^60',
    koWith([], { zip64: { directoryOffset: 2n ** 60n }, end: { directoryOffset: LONG } }),
    /central directory where/,
  ],
  [
    'zip64: a count of 2^60',
    koWith([], { zip64: { entries: 2n ** 60n }, end: { entries: 0xffff, entriesOnDisk: 0xffff } }),
    /part of several/,
  ],
  ['zip64: a record elsewhere', koWith([], { zip64: { recordOffset: 4 } }), /no zip64 end record where/],
  ['zip64: a record at 2^60', koWith([], { zip64: { recordOffset: 2n ** 60n } }), /no zip64 end record where/],
  ['zip64: a record of another size', koWith([], { zip64: { recordSize: 45 } }), /no zip64 end record where/],
  ['sentinels without zip64', koWith([], { end: { entries: 0xffff, entriesOnDisk: 0xffff } }), /65535 entries/],
  ['a comment that is shorter than it says', koWith([], { end: { commentLength: 4 } }), /more or fewer bytes/],
  [
    'a comment that is longer than it says',
    koWith([], { comment: Buffer.from('abc'), end: { commentLength: 2 } }),
    /more or fewer/,
  ],
  [
    'a comment that holds a whole zip',
    koWith([], { comment: zipOf(koFiles({ id: 'evil/twin/v1' })) }),
    /second end record/,
  ],
  [
    'a signature in the comment',
    koWith([], { comment: Buffer.concat([u32(0x06054b50), Buffer.alloc(60)]) }),
    /more or fewer bytes/,
  ],
  ['two zips, one behind the other', Buffer.concat([zipOf(KO), zipOf(KO)]), /bytes were added to it/],
  ['only an end record that is cut', buildZip([]).subarray(0, 20), /is cut off/],
  ['a local header alone', zipOf(KO).subarray(0, 40), /is cut off/],
  ['a gzip file', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0]), /tar file is cut off/],
  ['one byte', Buffer.from('P'), /is not a zip file/],
  ['megabytes of nothing', Buffer.alloc(5_000_000), /is not a zip file/],
];

/** An entry whose local header should be where the central directory is. */
function directoryAsEntry(): Buffer {
  const whole = koWith([{ name: 'x', withoutLocal: true }]);
  const offset = whole.readUInt32LE(whole.length - 6);
  return koWith([{ name: 'x', withoutLocal: true, offset }]);
}

for (const [what, zip, reason] of refused) {
  test(`refused: ${what}`, () => bench.refuses(zip, reason));
}

test('refused with 413: a zip of more than the limit', async () => {
  await bench.refuses(Buffer.alloc(100 * 2 ** 20 + 1), /larger than the limit/, 413);
});
