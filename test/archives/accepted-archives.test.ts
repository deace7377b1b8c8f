/** Archives as real tools make them, and odd ones that do no harm: each is taken in exactly as it is. */
import { after, test } from 'node:test';
import { Bench } from './bench.ts';
import { koFiles, zipOf } from './ko.ts';
import type { Files } from './ko.ts';
import { CLAIMS, DATA, KO, LONG, UNKNOWN, entriesOf, inFolder, koAnd, koWith, streamed, zeros } from './parts.ts';
import { buildZip, dataDescriptor, extraField, unicodePath, zip64Extra } from './zip-builder.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());

const emptyDeflate = { method: 8, raw: Buffer.from([3, 0]), data: '' };

const nextOffset = koWith([]).readUInt32LE(koWith([]).length - 6);
const x: Files = { x: DATA };
const accepted: [string, Buffer, Files][] = [
  ['a single top folder', zipOf(KO, { topFolder: 'any name' }), {}],
  ['a single top folder with its own entry', buildZip([{ name: 'ko/', mode: 0o040755 }, ...inFolder('ko')]), {}],
  ['a top folder beside an empty folder', buildZip([{ name: 'other/', mode: 0o040755 }, ...inFolder('ko')]), {}],
  [
    'metadata.json at the root and in a folder',
    koAnd({ name: 'sub/metadata.json', data: DATA }),
    { 'sub/metadata.json': DATA },
  ],
  [
    'what macOS adds',
    buildZip([...inFolder('ko'), { name: '__MACOSX/ko/._x' }, { name: '.DS_Store' }, { name: 'ko/a/.DS_Store' }]),
    {},
  ],
  [
    'names that only look like that',
    koWith([{ name: 'a/__MACOSX/x' }, { name: 'x.DS_Store' }]),
    { 'a/__MACOSX/x': '', 'x.DS_Store': '' },
  ],
  [
    'a folder as Java writes it',
    koWith([
      {
        name: 'a/',
        ...emptyDeflate,
        flags: 8,
        local: UNKNOWN,
        trailer: dataDescriptor({ ...UNKNOWN, compressedSize: 2 }),
      },
    ]),
    {},
  ],
  ['folders that are there twice', koWith([{ name: 'a/' }, { name: 'a/' }]), {}],
  [
    'no file modes',
    buildZip(Object.entries(KO).map(([name, content]) => ({ name, data: content, mode: 0, madeBy: 20 }))),
    {},
  ],
  ['executable and private files', koWith([{ name: 'x', data: DATA, mode: 0o104777 }]), x],
  ['a descriptor without signature', streamed(dataDescriptor({ ...CLAIMS, signature: false })), x],
  ['a descriptor of zip64', streamed(dataDescriptor({ ...CLAIMS, zip64: true })), x],
  [
    'a descriptor of zip64 without signature',
    streamed(dataDescriptor({ ...CLAIMS, zip64: true, signature: false })),
    x,
  ],
  ['a descriptor behind a header that knows', streamed(dataDescriptor(CLAIMS), {}), x],
  ['a header that promises a descriptor and knows', streamed(Buffer.alloc(0), {}), x],
  [
    'a streamed zip64 header',
    streamed(dataDescriptor({ ...CLAIMS, zip64: true }), {
      ...UNKNOWN,
      size: LONG,
      compressedSize: LONG,
      extra: zip64Extra(0, 0),
    }),
    x,
  ],
  [
    'zip64 only in the local header',
    koAnd({
      name: 'x',
      data: DATA,
      local: { size: LONG, compressedSize: LONG, extra: zip64Extra(DATA.length, DATA.length) },
    }),
    x,
  ],
  [
    'zip64 for the offset',
    koAnd({ name: 'x', data: DATA, offset: LONG, central: { extra: zip64Extra(nextOffset) } }),
    x,
  ],
  ['unknown extra fields', koAnd({ name: 'x', data: DATA, extra: extraField(0x4b47, Buffer.from('?')) }), x],
  ['extra fields padded with zeros', koAnd({ name: 'x', data: DATA, local: { extra: Buffer.alloc(7) } }), x],
  [
    'different extra fields',
    koAnd({ name: 'x', data: DATA, central: { extra: extraField(0x5455, Buffer.from([1, 0, 0, 0, 0])) } }),
    x,
  ],
  ['an empty deflated file', koAnd({ name: 'x', ...emptyDeflate }), { x: '' }],
  ['an empty file without deflate data', koAnd({ name: 'x', method: 8, raw: Buffer.alloc(0), data: '' }), { x: '' }],
  [
    'comments',
    koWith([{ name: 'x', data: DATA, comment: Buffer.from('about x') }], { comment: Buffer.from('about all') }),
    x,
  ],
  ['the longest comment', koWith([], { comment: Buffer.alloc(0xffff, 'c') }), {}],
  ['entries in another order than their data', buildZip([...entriesOf(KO)].reverse()), {}],
  [
    'a UTF-8 name that says so',
    koAnd({ name: 'größe/日本.txt', data: DATA, flags: 0x800 }),
    { 'größe/日本.txt': DATA },
  ],
  ['a UTF-8 name that does not say so', koAnd({ name: 'größe.txt', data: DATA }), { 'größe.txt': DATA }],
  [
    'a name in code page 437',
    koAnd({ name: Buffer.from([0x67, 0x72, 0x94, 0xe1, 0x65]), data: DATA }),
    { größe: DATA },
  ],
  ['a Unicode path field', koAnd({ name: '#U00e9', data: DATA, extra: unicodePath('#U00e9', 'é') }), { é: DATA }],
  ['a Unicode path field of another name', koAnd({ name: 'x', data: DATA, extra: unicodePath('y', '../evil') }), x],
  [
    'names with unusual characters',
    koAnd({ name: ' a?*"<>|%2e%2e~$#!&;\'`', data: DATA }),
    { ' a?*"<>|%2e%2e~$#!&;\'`': DATA },
  ],
  [
    'names of Windows streams, and such as differ only in case',
    koWith([
      { name: 'index.html:Zone.Identifier', data: DATA },
      { name: 'metadata.json::$DATA', data: DATA },
      { name: 'src:a/C:x', data: DATA },
      { name: 'README.md', data: 'lower' },
      { name: 'README.MD', data: 'upper' },
      { name: 'Src/index.js', data: 'other folder' },
      { name: 'readme.md/x', data: 'a folder' },
    ]),
    {
      'index.html:Zone.Identifier': DATA,
      'metadata.json::$DATA': DATA,
      'src:a/C:x': DATA,
      'README.md': 'lower',
      'README.MD': 'upper',
      'Src/index.js': 'other folder',
      'readme.md/x': 'a folder',
    },
  ],
  [
    'names that begin like reserved ones',
    koWith([
      { name: 'console', data: DATA },
      { name: 'null.js', data: DATA },
    ]),
    { console: DATA, 'null.js': DATA },
  ],
  [
    'the longest names',
    koAnd({ name: `${'d'.repeat(255)}/${'f'.repeat(255)}`, data: DATA }),
    { [`${'d'.repeat(255)}/${'f'.repeat(255)}`]: DATA },
  ],
  ['the deepest path', koAnd({ name: `${'d/'.repeat(19)}f`, data: DATA }), { [`${'d/'.repeat(19)}f`]: DATA }],
  [
    'a compressible file of 9 MB',
    koWith([{ ...(await zeros(9 * 2 ** 20)), name: 'x' }]),
    { x: Buffer.alloc(9 * 2 ** 20) },
  ],
  ['headers that name other versions and times', koAnd({ name: 'x', data: DATA, madeBy: 0xffff }), x],
  [
    'metadata with a byte order mark',
    zipOf(koFiles({ files: { 'metadata.json': `\uFEFF${String(KO['metadata.json'])}` } })),
    { 'metadata.json': `\uFEFF${String(KO['metadata.json'])}` },
  ],
  ['descriptors in folders, with ./', zipOf(descriptorsInFolders()), {}],
];

function descriptorsInFolders(): Files {
  const metadata = { hasServiceSpecification: './api/service.yaml', hasDeploymentSpecification: 'api/deployment.yaml' };
  const { 'service.yaml': service = '', 'deployment.yaml': deployment = '', ...rest } = koFiles({ metadata });
  return { ...rest, 'api/service.yaml': service, 'api/deployment.yaml': deployment };
}

for (const [what, zip, extra] of accepted) {
  const files = what.startsWith('descriptors') ? descriptorsInFolders() : { ...KO, ...extra };
  test(`accepted: ${what}`, () => bench.accepts(zip, files));
}
