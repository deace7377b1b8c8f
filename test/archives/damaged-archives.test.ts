/** Whatever is changed in a valid zip: it is read exactly as it was, or refused. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/lib/errors.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../../src/shelf/archive/archive.ts';
import { openZip } from '../../src/shelf/zip/open-zip.ts';
import { inRound } from '../support/round.ts';
import { assertFitToPrint } from './bench.ts';
import { CLAIMS, DATA, LONG, UNKNOWN } from './parts.ts';
import { buildZip, dataDescriptor, unicodePath, zip64Extra } from './zip-builder.ts';

const dir = await mkdtemp(join(tmpdir(), 'kgrid-archives-'));
after(() => rm(dir, { recursive: true }));
const file = join(dir, 'damaged.zip');

/** Of the bytes, every third in a short round: over several rounds each of them. */
const STEP = inRound(3, 1);
const FIRST = Date.now() % STEP;

async function contents(zip: Buffer): Promise<Record<string, string>> {
  await writeFile(file, zip);
  await using archive = await openZip(file, DEFAULT_PACKAGE_LIMITS);
  const found: Record<string, string> = {};
  for await (const { path, content } of archive.unpack()) found[path] = (await buffer(content)).toString('latin1');
  return found;
}

const text = DATA.toString();
const whole = buildZip(
  [
    { name: 'folder/', mode: 0o040755 },
    { name: 'stored', data: DATA },
    { name: 'deflated', data: DATA, method: 8, extra: unicodePath('deflated', 'déflaté') },
    { name: 'streamed', data: DATA, flags: 8, local: UNKNOWN, trailer: dataDescriptor(CLAIMS) },
    { name: 'long', data: DATA, size: LONG, compressedSize: LONG, extra: zip64Extra(DATA.length, DATA.length) },
  ],
  { zip64: {}, comment: Buffer.from('a comment') },
);
const wholeContents = { stored: text, déflaté: text, streamed: text, long: text };
/** What a zip says in which both records of the Unicode name were made into something else: it is not damaged. */
const plainContents = { stored: text, deflated: text, streamed: text, long: text };

/** @returns whether the zip was refused. */
async function readsSameOrRefuses(zip: Buffer, what: string, changes = 1): Promise<boolean> {
  try {
    const found = await contents(zip);
    const expected = changes > 1 && 'deflated' in found ? plainContents : wholeContents;
    assert.deepEqual(Object.entries(found), Object.entries(expected), what);
    return false;
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    assert.equal(thrown.status, 400, what);
    assertFitToPrint(thrown.message);
    return true;
  }
}

test('the archive is read before it is damaged', async () => {
  assert.deepEqual(await contents(whole), wholeContents);
});

for (const [what, change] of [
  ['the lowest bit', (byte: number) => byte ^ 1],
  ['the highest bit', (byte: number) => byte ^ 0x80],
] as const) {
  test(`with ${what} of any byte changed`, async () => {
    let refused = 0;
    for (let at = FIRST; at < whole.length; at += STEP) {
      const zip = Buffer.from(whole);
      zip[at] = change(zip[at] ?? 0);
      if (await readsSameOrRefuses(zip, `byte ${at}`)) refused++;
    }
    assert.ok(refused > whole.length / STEP / 2, `${refused} refused`);
  });
}

test('cut at any length', async () => {
  for (let length = 0; length < whole.length; length += 3) {
    assert.ok(await readsSameOrRefuses(whole.subarray(0, length), `length ${length}`));
  }
});

test('with bytes put in, taken out or moved', async () => {
  const place = fc.nat({ max: whole.length });
  await fc.assert(
    fc.asyncProperty(place, place, place, fc.uint8Array({ maxLength: 8 }), async (a, b, c, bytes) => {
      const [from, to] = a < b ? [a, b] : [b, a];
      const rest = Buffer.concat([whole.subarray(0, from), whole.subarray(to)]);
      const moved = Buffer.concat([rest.subarray(0, c), whole.subarray(from, to), bytes, rest.subarray(c)]);
      await readsSameOrRefuses(moved, 'moved');
      await readsSameOrRefuses(Buffer.concat([rest.subarray(0, c), bytes, rest.subarray(c)]), 'replaced');
    }),
    { numRuns: inRound(100, 300) },
  );
});

test('with several fields of 16 or 32 bits set to odd values', async () => {
  const odd = fc.constantFrom(
    0,
    1,
    0x7fff,
    0xffff,
    0x10000,
    0x7fffffff,
    0x80000000,
    0xfffffffe,
    0xffffffff,
    whole.length,
  );
  const edit = fc.record({ at: fc.nat({ max: whole.length - 4 }), value: odd, wide: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
      const zip = Buffer.from(whole);
      for (const { at, value, wide } of edits) {
        if (wide) zip.writeUInt32LE(value, at);
        else zip.writeUInt16LE(value & 0xffff, at);
      }
      await readsSameOrRefuses(zip, JSON.stringify(edits), edits.length);
    }),
    { numRuns: inRound(200, 600) },
  );
});
