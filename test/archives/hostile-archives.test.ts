/** The hostile archives that every import must survive. */
import { after, test } from 'node:test';
import { Bench } from './bench.ts';
import { koFiles, zipOf } from './ko.ts';
import { KO, entriesOf, koWith, zeros } from './parts.ts';
import { buildZip, dataDescriptor, unicodePath, zip64Extra } from './zip-builder.ts';
import type { EntrySpec } from './zip-builder.ts';
import { crc32 } from 'node:zlib';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());

const honest = zipOf(KO);
const named = (name: string | Buffer, more: Partial<EntrySpec> = {}): Buffer => koWith([{ name, data: 'x', ...more }]);
const withFiles = (files: Record<string, string | undefined>): Buffer => zipOf(koFiles({ files }));
const withId = (id: unknown): Buffer => zipOf(koFiles({ metadata: { '@id': id } }));

const bomb200 = await zeros(200 * 2 ** 20);
const bomb20 = await zeros(20 * 2 ** 20);
const bomb50 = await zeros(50 * 2 ** 20);
const overlapping = (): Buffer => {
  const { raw, ...claims } = bomb20;
  const copies = Array.from({ length: 49 }, (_, i) => ({
    ...claims,
    name: `b${i}`,
    compressedSize: raw.length,
    withoutLocal: true,
    offset: 0,
  }));
  return buildZip([{ ...claims, raw, name: 'b' }, ...copies, ...entriesOf(KO)]);
};
const inComment = buildZip([], {});

const refused: [string, Buffer, RegExp][] = [
  ['1 ../../evil', named('../../evil'), /zip entry "\.\.\/\.\.\/evil" has "\.\." in its path/],
  ['2 a/../../../evil', named('a/../../../evil'), /has "\.\." in its path/],
  ['3 /tmp/evil', named('/tmp/evil'), /"\/tmp\/evil" has an absolute path/],
  ['4 C:/evil', named('C:/evil'), /"C:\/evil" has a path that begins with a Windows drive/],
  [
    '5 ..\\..\\evil',
    named('..\\..\\evil'),
    /has a backslash in its name: the zip was made by a tool that writes Windows/,
  ],
  ['6 a UNC path', named('\\\\srv\\share'), /has a backslash/],
  ['7 a symlink', named('link', { data: '/etc/passwd', mode: 0o120777 }), /"link" is a symbolic link/],
  [
    '8 a symlink to a folder, and a file through it',
    koWith([{ name: 'dir', data: '/tmp', mode: 0o120777 }, { name: 'dir/evil' }]),
    /"dir" is a symbolic link/,
  ],
  ['9 a duplicate name', koWith([{ name: 'twice' }, { name: 'twice' }]), /"twice" is there twice/],
  ['9 a duplicate metadata.json', named('metadata.json'), /"metadata\.json" is there twice/],
  ['11 a file and a folder of one name', koWith([{ name: 'a' }, { name: 'a/b' }]), /"a" is both a file and a folder/],
  ['11 a folder and a file of one name', koWith([{ name: 'a/b' }, { name: 'a' }]), /"a" is both a file and a folder/],
  ['12 a bomb of 200 MB', koWith([{ ...bomb200, name: 'bomb' }]), /"bomb" unpacks to 200 MB; a file may have 100 MB/],
  ['12 a bomb of 50 MB', koWith([{ ...bomb50, name: 'bomb' }]), /"bomb" unpacks to more than 200 times its size/],
  ['13 a size that lies', koWith([{ ...bomb50, size: 10, name: 'liar' }]), /"liar" is larger than the 10 bytes/],
  ['14 fifty overlapping entries', overlapping(), /overlaps another entry|unpacks to more than/],
  ['15 a wrong CRC', named('file', { crc: 1 }), /"file" is damaged: its CRC/],
  ['16 half of a zip', honest.subarray(0, honest.length / 2), /is cut off: its end record is missing/],
  ['17 a zip without its tail', honest.subarray(0, -1), /is cut off/],
  ['18 an encrypted entry', named('secret', { flags: 1 }), /"secret" is encrypted: zip it without a password/],
  ['19 an empty archive', buildZip([]), /The zip file holds no files/],
  ['20 zero bytes', Buffer.alloc(0), /The zip file is empty/],
  ['21 no zip', Buffer.from('this is not a zip file, it is text'), /is not a zip file/],
  [
    '22 two names',
    named('good', { local: { name: 'evil' } }),
    /"good" has two headers that contradict each other \(name\)/,
  ],
  ['23 NUL in a name', named('a\0.js'), /"a\\u0000\.js" has a control character/],
  ['24 a name that is not UTF-8', named(Buffer.from([0x61, 0xff, 0xfe]), { flags: 0x800 }), /not valid UTF-8/],
  [
    '25 one name in NFC and NFD',
    koWith([
      { name: 'caf\u00e9', flags: 0x800 },
      { name: 'cafe\u0301', flags: 0x800 },
    ]),
    /has the same name as "café" but for how its accents are written/,
  ],
  ['26 a name of 5,000 characters', named('x'.repeat(5_000)), /"x{100}…" has a name of more than 1024 bytes/],
  ['27 a depth of 3,000', named('d/'.repeat(3_000) + 'f'), /has a name of more than 1024 bytes/],
  ['27 a depth of 30', named('d/'.repeat(30) + 'f'), /lies more than 20 folders deep/],
  [
    '28 60,000 entries',
    buildZip(Array.from({ length: 60_000 }, (_, i) => ({ name: `f${i}` }))),
    /has 60000 entries; a package may have 5000/,
  ],
  ['29 an empty name', named(''), /"" has no name/],
  ['30 the name .', named('.'), /has "\." in its path/],
  ['30 the name ./', named('./', { data: '' }), /has "\." in its path/],
  ['30 a name with ./', named('./x'), /has "\." in its path/],
  ['32 prepended bytes', buildZip(entriesOf(KO), { prepended: Buffer.from('#!/bin/sh\n') }), /bytes were added to it/],
  [
    '32 prepended bytes that are counted',
    buildZip(entriesOf(KO), { prepended: Buffer.from('MZ'), shift: 2 }),
    /has bytes before its first entry/,
  ],
  ['33 trailing junk', Buffer.concat([honest, Buffer.from('junk')]), /more or fewer bytes behind its end record/],
  [
    '34 an end record in the comment',
    buildZip(entriesOf(KO), { comment: inComment }),
    /second end record in its comment/,
  ],
  ['35 an unsupported method', named('x', { method: 14 }), /"x" is compressed by lzma: use deflate/],
  [
    '36 too low an entry count',
    koWith([{ name: 'hidden' }], { end: { entries: 4, entriesOnDisk: 4 } }),
    /more entries than its end record says/,
  ],
  ['36 too high an entry count', koWith([], { end: { entries: 9, entriesOnDisk: 9 } }), /cannot be read/],
  [
    '39 a zip64 size of 2^60',
    named('huge', { size: 0xffffffff, extra: zip64Extra(2n ** 60n, 1) }),
    /"huge" is stored as it is but has two different sizes/,
  ],
  [
    '39 a deflated zip64 size of 2^60',
    named('huge', { method: 8, size: 0xffffffff, extra: zip64Extra(2n ** 60n) }),
    /"huge" unpacks to 1099511627776 MB/,
  ],
  ['40 CON', named('CON'), /"CON" has a name that is reserved on Windows/],
  ['40 aux.js in a folder', named('src/aux.js'), /reserved on Windows/],
  ['40 a.', named('a.'), /a dot or a space at the end/],
  ['41 a FIFO', named('pipe', { data: '', mode: 0o010644 }), /"pipe" is a pipe/],
  ['42 a folder with data', named('folder/', { mode: 0o040755 }), /"folder\/" is a folder that holds data/],
  [
    '43 another Unicode path',
    named('good', { extra: unicodePath('good', '../../evil') }),
    /"\.\.\/\.\.\/evil" has "\.\." in its path/,
  ],
  ['45 no metadata.json', withFiles({ 'metadata.json': undefined }), /has no metadata\.json: a package needs one/],
  ['45 metadata.json that is not JSON', withFiles({ 'metadata.json': '{"@id": ' }), /metadata\.json is not valid JSON/],
  [
    '45 a huge metadata.json',
    withFiles({ 'metadata.json': `{"@id": "a/b/c", "x": "${'x'.repeat(2 ** 20)}"}` }),
    /metadata\.json has 1\.1 MB; it may have 1 MB/,
  ],
  ['45 metadata.json of another type', withFiles({ 'metadata.json': '["a/b/c"]' }), /must hold a JSON object/],
  ['45 an @id of another type', withId({ a: 1 }), /@id in metadata\.json is \{"a":1\}; it must be/],
  ['45 an @id with ../', withId('../../etc/passwd'), /@id in metadata\.json is "\.\.\/\.\.\/etc\/passwd"; it must be/],
];

for (const [what, zip, reason] of refused) {
  test(`refused: ${what}`, () => bench.refuses(zip, reason));
}

const oddNames = ['__proto__', 'constructor', 'toString', 'src/__proto__/hasOwnProperty'];
const nested = buildZip([{ ...bomb200, name: 'bomb' }]);
const content = Buffer.from('streamed');
const claims = { crc: crc32(content), compressedSize: content.length, size: content.length };
const unknown = { crc: 0, compressedSize: 0, size: 0 };

const accepted: [string, Buffer, [string, string | Buffer][]][] = [
  [
    '31 names of prototypes',
    koWith(oddNames.map((name) => ({ name, data: name }))),
    oddNames.map((name) => [name, name]),
  ],
  ['37 a nested bomb', koWith([{ name: 'data.zip', data: nested }]), [['data.zip', nested]]],
  [
    '38 zip64',
    koWith([{ name: 'x', data: 'x', size: 0xffffffff, compressedSize: 0xffffffff, extra: zip64Extra(1, 1) }], {
      zip64: {},
    }),
    [['x', 'x']],
  ],
  [
    '38 zip64, only sentinels in the end record',
    koWith([], {
      zip64: {},
      end: { entries: 0xffff, entriesOnDisk: 0xffff, directorySize: 0xffffffff, directoryOffset: 0xffffffff },
    }),
    [],
  ],
  [
    '44 a data descriptor',
    koWith([{ name: 'x', data: content, flags: 8, local: unknown, trailer: dataDescriptor(claims) }]),
    [['x', content]],
  ],
];

for (const [what, zip, extra] of accepted) {
  test(`accepted: ${what}`, () => bench.accepts(zip, new Map([...Object.entries(KO), ...extra])));
}
