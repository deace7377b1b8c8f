/** Tars that every import must survive, and those that real tools make. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { inRound } from '../support/round.ts';
import { Bench } from './bench.ts';
import type { Files } from './ko.ts';
import { DATA, KO } from './parts.ts';
import { BLOCK_BYTES } from '../../src/shelf/tar/header.ts';
import { END, buildTar, buildTarGz, gnuLong, pax, paxRecord, tarEntriesOf, tarEntry } from './tar-builder.ts';
import type { TarSpec } from './tar-builder.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());

const HONEST = tarEntriesOf(KO);
const koWith = (...extra: TarSpec[]): Buffer => buildTarGz([...HONEST, ...extra]);
const honest = koWith();
const TAR = buildTar(HONEST);
const long = `${'folder/'.repeat(15)}${'f'.repeat(90)}`;
const raw = (data: string | Buffer | readonly number[], encoding?: 'hex'): Buffer =>
  typeof data === 'string' ? Buffer.from(data, encoding) : Buffer.from(data);

/** So many zeros behind a header that says them, packed without ever holding them. */
async function bomb(size: number, head: Buffer): Promise<Buffer> {
  const block = Buffer.alloc(2 ** 20);
  const blocks = function* (): Generator<Buffer> {
    yield head;
    for (let left = size; left > 0; left -= block.length) yield block.subarray(0, left);
    yield END;
  };
  return buffer(Readable.from(blocks()).pipe(createGzip({ level: constants.Z_BEST_SPEED })));
}
const gzipFast = (entries: TarSpec[]): Buffer => gzipSync(buildTar(entries), { level: constants.Z_BEST_SPEED });
const MB = 2 ** 20;
const file50 = tarEntry({ name: 'bomb', size: 50 * MB });

const refused: [string, Buffer, RegExp][] = [
  ['../evil', koWith({ name: '../evil' }), /^The tar entry "\.\.\/evil" has "\.\." in its path/],
  ['a/../../evil', koWith({ name: 'a/../../evil' }), /has "\.\." in its path/],
  ['././x', koWith({ name: '././x' }), /has "\." in its path/],
  ['/tmp/evil', koWith({ name: '/tmp/evil' }), /"\/tmp\/evil" has an absolute path/],
  ['an absolute prefix', koWith({ name: 'evil', prefix: '/tmp' }), /has an absolute path/],
  ['C:/evil', koWith({ name: 'C:/evil' }), /begins with a Windows drive/],
  ['..\\evil', koWith({ name: '..\\evil' }), /has a backslash in its name: the tar was made/],
  ['a symbolic link', koWith({ name: 'l', type: '2', link: '/etc/passwd' }), /"l" is a symbolic link: only files/],
  ['a hard link', koWith({ name: 'l', type: '1', link: 'metadata.json' }), /"l" is a hard link/],
  ['a character device', koWith({ name: 'd', type: '3' }), /"d" is a device/],
  ['a block device', koWith({ name: 'd', type: '4' }), /"d" is a device/],
  ['a pipe', koWith({ name: 'p', type: '6' }), /"p" is a pipe/],
  ['a sparse file of GNU', koWith({ name: 's', type: 'S' }), /"s" is a sparse file/],
  ['a sparse file of POSIX', koWith(pax({ 'GNU.sparse.major': '1' }), { name: 's' }), /"s" is a sparse file/],
  ['a contiguous file', koWith({ name: 'c', type: '7' }), /"c" is of an unusual kind/],
  ['a volume', koWith({ name: 'c', type: 'V' }), /"c" is of an unusual kind/],
  ['a part of a file', koWith({ name: 'c', type: 'M' }), /"c" is of an unusual kind/],
  ['a long link', koWith(gnuLong('/etc/passwd', 'K'), { name: 'x' }), /is a link/],
  ['a link by an extended header', koWith(pax({ linkpath: '/etc' }), { name: 'x' }), /"x" is a link/],
  ['a name twice', koWith({ name: 'x' }, { name: 'x' }), /"x" is there twice/],
  ['a name twice, once with ./', koWith({ name: 'x' }, { name: './x' }), /"x" is there twice/],
  ['metadata.json twice', koWith({ name: 'metadata.json' }), /"metadata\.json" is there twice/],
  ['a name in NFC and NFD', koWith({ name: 'caf\u00e9' }, { name: 'cafe\u0301' }), /has the same name as/],
  ['a file and a folder', koWith({ name: 'a' }, { name: 'a/b' }), /"a" is both a file and a folder/],
  ['a file that is named as a folder', koWith({ name: 'a/', type: '0' }), /marked as a file but named as a folder/],
  ['a folder with data', koWith({ name: 'a/', data: DATA }), /is a folder that holds data/],
  ['an empty name', koWith({ name: '' }), /has no name/],
  ['a name that is not UTF-8', koWith({ name: raw([0x61, 0xff]) }), /not valid UTF-8/],
  ['a control character', koWith({ name: 'a\nb' }), /control character/],
  ['bytes behind a name', koWith({ name: 'a\0b' }), /has bytes behind the end of its name/],
  ['a name that is too long', koWith(gnuLong('x'.repeat(300)), { name: 'x' }), /more than 255 bytes/],
  ['a path that is too long', koWith(pax({ path: 'x/'.repeat(600) }), { name: 'x' }), /more than 1024 bytes/],
  ['a path that is too deep', koWith({ name: `${'d/'.repeat(30)}f` }), /more than 20 folders deep/],
  ['CON', koWith({ name: 'CON' }), /reserved on Windows/],
  ['a path override that climbs', koWith(pax({ path: '../evil' }), { name: 'x' }), /has "\.\." in its path/],
  ['a long name that climbs', koWith(gnuLong('../evil'), { name: 'x' }), /has "\.\." in its path/],
  ['two long names', koWith(gnuLong('a'), pax({ path: 'b' }), { name: 'x' }), /has two different names/],
  ['a long name twice', koWith(gnuLong('a'), gnuLong('b'), { name: 'x' }), /two extended headers of one kind/],
  ['an extended header twice', koWith(pax({}), pax({}), { name: 'x' }), /two extended headers of one kind/],
  ['a size override', koWith(pax({ size: '0' }), { name: 'x', data: DATA }), /"x" has two different sizes/],
  ['a path that is said twice', koWith(paths('a', 'b'), { name: 'x' }), /says path twice/],
  ['an extended header of no length', koWith(ext(raw('0 path=a\n')), { name: 'x' }), /damaged extended header/],
  ['an extended header that is too long', koWith(ext(raw('99 path=a\n')), { name: 'x' }), /damaged extended header/],
  ['an extended header without an end', koWith(ext(raw('9 path=ab')), { name: 'x' }), /damaged extended header/],
  ['an extended header of 65 kB', koWith(ext(Buffer.alloc(65 * 1024 + 1)), { name: 'x' }), /it may have 65536 bytes/],
  ['an extended header at the end', koWith(pax({ path: 'x' })), /extended header behind its last entry/],
  ['a global path', koWith(pax({ path: 'x' }, 'g')), /global header that says path of all entries/],
  ['a global size', buildTarGz([pax({ size: '1' }, 'g'), ...HONEST]), /global header that says size/],
  ['another encoding of names', koWith(pax({ hdrcharset: 'BINARY', path: 'x' }), { name: 'x' }), /not UTF-8/],
  ['a size of base 256', koWith({ name: 'x', size: raw('8000000000000000000000ff', 'hex') }), /no octal number/],
  ['a negative size', koWith({ name: 'x', size: raw('ffffffffffffffffffffffff', 'hex') }), /no octal number/],
  ['a size of letters', koWith({ name: 'x', size: raw('000000000zz\0') }), /no octal number/],
  ['a wrong checksum', koWith({ name: 'x', checksum: 1 }), /"x" is damaged: its header is not/],
  ['no magic', koWith({ name: 'x', magic: '' }), /a header is none/],
  ['8 GB in one file', koWith({ name: 'x', size: 8 * 2 ** 30 - 1 }), /"x" unpacks to 8192 MB; a file may have 100 MB/],
  ['a bomb of 50 MB', await bomb(50 * MB, Buffer.concat([TAR.subarray(0, -1024), file50])), /200 times its size/],
  ['20 MB of zeros behind the end', await bomb(20 * MB, TAR), /more than 1 MB of zeros behind its end/],
  [
    'four files of 99 MB',
    gzipFast([
      ...HONEST,
      ...[1, 2, 3].map((i) => ({ name: `f${i}`, data: Buffer.alloc(99 * MB) })),
      { name: 'g', size: 99 * MB },
    ]),
    /unpacks to 396\.1 MB; a package may have 300 MB/,
  ],
  [
    '5,001 entries',
    buildTarGz(Array.from({ length: 5001 }, (_, i) => ({ name: `f${i}` }))),
    /has more than the 5000 entries/,
  ],
  ['no entries', gzipSync(Buffer.alloc(10_240)), /holds no files/],
  ['an empty gzip', gzipSync(''), /is cut off: its end is missing/],
  ['gzip of text', gzipSync('no tar at all, '.repeat(99)), /a header is none/],
  ['no end', buildTarGz(HONEST, Buffer.alloc(0)), /is cut off: its end is missing/],
  ['one block of the end', buildTarGz(HONEST, END.subarray(BLOCK_BYTES)), /is cut off: its end is missing/],
  [
    'an empty header between entries',
    gzipSync(Buffer.concat([TAR.subarray(0, -1024), END.subarray(512), TAR])),
    /empty header/,
  ],
  ['an entry behind the end', gzipSync(Buffer.concat([TAR, tarEntry({ name: 'x' }), END])), /has bytes behind its end/],
  ['an entry that is cut', gzipSync(Buffer.concat([tarEntry({ name: 'x', size: 9000 })])), /"x" is cut off/],
  ['gzip that is cut', honest.subarray(0, -20), /is cut off|is damaged/],
  ['half of it', honest.subarray(0, honest.length / 2), /is cut off/],
  ['a byte less', honest.subarray(0, -1), /is cut off|is damaged|bytes behind/],
  ['a byte more', Buffer.concat([honest, raw('x')]), /has bytes behind its gzip data/],
  ['a second member', Buffer.concat([honest, gzipSync(raw('x'))]), /has bytes behind its gzip data/],
  ['the same twice', Buffer.concat([honest, honest]), /has bytes behind its gzip data/],
  ['a wrong CRC', changed(honest, honest.length - 8), /its CRC or size is not/],
  ['a wrong size', changed(honest, honest.length - 1), /its CRC or size is not/],
  ['damaged data', changed(honest, 100), /is damaged|is cut off|a header is none|behind its gzip/],
  ['another method of gzip', changed(honest, 2), /its gzip header is none/],
  ['a gzip header without an end', Buffer.concat([raw([0x1f, 0x8b, 8, 8]), Buffer.alloc(99, 65)]), /has no end/],
  ['two bytes', raw([0x1f, 0x8b]), /is cut off/],
  ['no metadata.json', buildTarGz([{ name: 'x' }]), /^The tar file has no metadata\.json/],
];

function ext(data: Buffer): TarSpec {
  return { name: 'PaxHeaders/x', type: 'x', data };
}

function paths(...all: string[]): TarSpec {
  return ext(Buffer.concat(all.map((path) => paxRecord('path', path))));
}

function changed(whole: Buffer, at: number): Buffer {
  const copy = raw(whole);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

for (const [what, tar, reason] of refused) {
  test(`refused: ${what}`, () => bench.refuses(tar, reason));
}

const x: Files = { x: DATA };
const accepted: [string, Buffer, Files][] = [
  ['a tar with gzip', honest, {}],
  ['a tar without gzip', TAR, {}],
  ['a single top folder', buildTarGz([{ name: 'ko/' }, ...tarEntriesOf(KO, 'ko/')]), {}],
  ['names with ./', buildTarGz([{ name: './' }, ...tarEntriesOf(KO, './')]), {}],
  [
    'what macOS adds',
    buildTarGz([{ name: '._ko' }, ...tarEntriesOf(KO, 'ko/'), { name: 'ko/src/._x' }, { name: 'ko/.DS_Store' }]),
    {},
  ],
  ['headers of GNU', koWith({ name: 'x', data: DATA, magic: 'ustar  ' }), x],
  ['an old mark of files', koWith({ name: 'x', data: DATA, type: '\0' }), x],
  ['a prefix', koWith({ name: 'x', prefix: 'a/b', data: DATA }), { 'a/b/x': DATA }],
  ['a long name of GNU', koWith(gnuLong(long), { name: long, data: DATA }), { [long]: DATA }],
  [
    'a path override',
    koWith(pax({ path: long, mtime: '1.5', uname: 'größe' }), { name: 'x', data: DATA }),
    { [long]: DATA },
  ],
  ['a path of UTF-8', koWith(pax({ path: 'größe' }), { name: 'gr??e', data: DATA }), { größe: DATA }],
  ['a size that agrees', koWith(pax({ size: String(DATA.length) }), { name: 'x', data: DATA }), x],
  ['a global comment, as git writes it', buildTarGz([pax({ comment: 'a'.repeat(40) }, 'g'), ...HONEST]), {}],
  ['zeros up to a record', buildTarGz(HONEST, Buffer.alloc(10_240)), {}],
  [
    'names of Windows streams, and such as differ only in case',
    koWith(
      { name: 'index.html:Zone.Identifier', data: DATA },
      { name: 'Read', data: 'a' },
      { name: 'READ', data: 'b' },
    ),
    { 'index.html:Zone.Identifier': DATA, Read: 'a', READ: 'b' },
  ],
  ['names of prototypes', koWith({ name: '__proto__', data: DATA }), {}],
];

for (const [what, tar, extra] of accepted) {
  const files = new Map(Object.entries({ ...KO, ...extra }));
  if (what.startsWith('names of proto')) files.set('__proto__', DATA);
  test(`accepted: ${what}`, () => bench.accepts(tar, files));
}

test('accepted: what tar and python make', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-tars-'));
  after(() => rm(folder, { recursive: true }));
  for (const [path, text] of Object.entries({ ...KO, [long]: DATA, 'größe.txt': DATA })) {
    await mkdir(dirname(join(folder, 'ko', path)), { recursive: true });
    await writeFile(join(folder, 'ko', path), text);
  }
  const run = (program: string, ...args: string[]): void => void execFileSync(program, args, { cwd: folder });
  for (const format of ['gnu', 'pax', 'ustar']) run('tar', `--format=${format}`, '-czf', `${format}.tar.gz`, 'ko');
  run('tar', '-czf', 'root.tar.gz', '-C', 'ko', '.');
  run('tar', '-cf', 'plain.tar', 'ko');
  run('python3', '-c', 'import tarfile\nwith tarfile.open("python.tar.gz", "w:gz") as tar: tar.add("ko")');
  for (const name of ['gnu.tar.gz', 'pax.tar.gz', 'ustar.tar.gz', 'root.tar.gz', 'plain.tar', 'python.tar.gz'])
    await bench.accepts(await readFile(join(folder, name)), { ...KO, [long]: DATA, 'größe.txt': DATA });
});

test('whatever byte is changed, it is read as it was or refused', async () => {
  const whole = buildTar([...HONEST, gnuLong(long), { name: 'x', data: DATA }]);
  const before = await bench.state();
  let refusals = 0;
  for (let at = 0; at < whole.length; at += inRound(255, 37)) {
    await bench.import(gzipSync(changed(whole, at))).then(
      ({ id }) => bench.shelf.remove(id),
      (thrown: unknown) => {
        assert.match(String(thrown), /^ServiceError/);
        refusals++;
      },
    );
  }
  assert.ok(refusals > 10);
  assert.deepEqual(await bench.state(), before);
  assert.deepEqual(await bench.staged(), []);
});
