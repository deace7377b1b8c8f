/** Archives whose entries may not be stored: names, kinds and places. */
import { after, test } from 'node:test';
import { Bench } from './bench.ts';
import { DATA, inFolder, koAnd, koWith } from './parts.ts';
import { buildZip } from './zip-builder.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());

const refused: [string, Buffer, RegExp][] = [
  ['a socket', koAnd({ name: 'x', mode: 0o140644 }), /"x" is a socket/],
  ['a device', koAnd({ name: 'x', mode: 0o020644 }), /"x" is a device/],
  ['a block device', koAnd({ name: 'x', mode: 0o060644 }), /"x" is a device/],
  ['an unknown type', koAnd({ name: 'x', mode: 0o170000 }), /"x" is no file/],
  ['a folder that is named as a file', koAnd({ name: 'x', mode: 0o040755 }), /marked as a folder/],
  ['a symlink that is named as a folder', koAnd({ name: 'x/', mode: 0o120777 }), /symbolic link/],
  ['a folder with a CRC', koAnd({ name: 'x/', crc: 5 }), /folder that holds data/],
  [
    'a folder with compressed data',
    koAnd({ name: 'x/', method: 8, raw: Buffer.alloc(17), size: 0, crc: 0 }),
    /folder that holds data/,
  ],
  ['a file and an explicit folder', koWith([{ name: 'x' }, { name: 'x/' }]), /both a file and a folder/],
  [
    'a duplicate in Kelvin',
    koWith([
      { name: 'K', data: DATA },
      { name: '\u212a', data: DATA, flags: 0x800 },
    ]),
    /same name/,
  ],
  ['a duplicate that macOS adds', koWith([{ name: '.DS_Store' }, { name: '.DS_Store' }]), /is there twice/],
  ['a path that climbs out of __MACOSX', koAnd({ name: '__MACOSX/../../evil' }), /"\.\." in its path/],
  ['a line break in a name', koAnd({ name: 'a\nb' }), /control character/],
  ['an escape in a name', koAnd({ name: '\x1b[31mred' }), /"\\u001b\[31mred" has a control character/],
  ['a delete in a name', koAnd({ name: 'a\x7f' }), /control character/],
  ['a C1 control in a name', koAnd({ name: 'a\u0085', flags: 0x800 }), /control character/],
  ['a name with an empty part', koAnd({ name: 'a//b' }), /empty part/],
  ['only a slash', koAnd({ name: '/' }), /absolute path/],
  ['a trailing space', koAnd({ name: 'a ' }), /dot or a space at the end/],
  ['a folder with a trailing dot', koAnd({ name: 'a./b' }), /dot or a space at the end/],
  ['three dots', koAnd({ name: '.../b' }), /dot or a space at the end/],
  ['COM1 with an extension', koAnd({ name: 'Com1.tar.gz' }), /reserved on Windows/],
  ['a segment of 256 bytes', koAnd({ name: 'é'.repeat(128), flags: 0x800 }), /more than 255 bytes between/],
  [
    '5,001 entries',
    koWith(Array.from({ length: 4_998 }, (_, i) => ({ name: `f${i}` }))),
    /5002 entries; a package may have 5000/,
  ],
  [
    'two top folders',
    buildZip([...inFolder('a'), { name: 'b/x' }]),
    /has its metadata\.json at a\/metadata\.json: it must be/,
  ],
  [
    'a file beside the top folder',
    buildZip([...inFolder('a'), { name: 'README.md' }]),
    /has its metadata\.json at a\/metadata\.json/,
  ],
  ['nested top folders', buildZip(inFolder('a/b')), /has its metadata\.json at a\/b\/metadata\.json/],
  ['another case of metadata.json', buildZip([{ name: 'Metadata.json', data: '{}' }]), /has no metadata\.json/],
  ['only what macOS adds', buildZip([{ name: '__MACOSX/metadata.json', data: '{}' }]), /has no metadata\.json/],
  ['only folders', buildZip([{ name: 'a/', mode: 0o040755 }]), /has no metadata\.json/],
];

for (const [what, zip, reason] of refused) {
  test(`refused: ${what}`, () => bench.refuses(zip, reason));
}
