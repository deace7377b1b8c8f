import { parseExtraFields } from 'yauzl';
import type { LocalFileHeader, ZipFile } from 'yauzl';
import type { EndRecord } from './end-record.ts';
import { unicodePath } from './entry-name.ts';
import type { CheckedEntry } from './entry-rules.ts';
import type { FileReader } from './file-reader.ts';
import { archiveRefused, entryRefused } from './refusal.ts';

/** An entry whose bytes lie at a known place, shared with no other. */
export interface PlacedEntry extends CheckedEntry {
  /** Where the compressed bytes start in the file. */
  readonly dataStart: number;
}

/**
 * Checks that the archive is its entries, one behind the other, and nothing else, and that each local header says
 * what the central directory says. So no byte counts twice, as in overlapping bombs, and no other reader can see
 * other files in it.
 * @throws importRefused
 */
export async function placeEntries(
  entries: readonly CheckedEntry[],
  { directoryOffset }: EndRecord,
  zip: ZipFile,
  reader: FileReader,
): Promise<PlacedEntry[]> {
  const sorted = [...entries].sort((a, b) => a.headerOffset - b.headerOffset);
  const placed: PlacedEntry[] = [];
  let cursor = 0;
  for (const [i, entry] of sorted.entries()) {
    if (entry.headerOffset > directoryOffset) throw entryRefused(entry.name, 'lies outside the data of the zip');
    if (entry.headerOffset < cursor) throw entryRefused(entry.name, 'overlaps another entry');
    if (entry.headerOffset > cursor) throw archiveRefused(strayBytes(sorted[i - 1]));
    const local = await zip.readLocalFileHeaderPromise(entry.header).catch((cause: unknown) => {
      throw entryRefused(entry.name, 'has no readable header where the central directory says', cause);
    });
    const dataEnd = local.fileDataStart + entry.compressedSize;
    const next = sorted[i + 1]?.headerOffset ?? directoryOffset;
    if (dataEnd > next) {
      throw entryRefused(
        entry.name,
        i + 1 < sorted.length ? 'overlaps another entry' : 'reaches into the central directory',
      );
    }
    const hasDescriptor = (local.generalPurposeBitFlag & DESCRIPTOR_FOLLOWS) !== 0 && next > dataEnd;
    checkLocalHeader(entry, local, hasDescriptor);
    if (hasDescriptor) checkDescriptor(entry, await reader.bytes(dataEnd, next - dataEnd > 24 ? 0 : next - dataEnd));
    cursor = hasDescriptor ? next : dataEnd;
    placed.push({ ...entry, dataStart: local.fileDataStart });
  }
  if (cursor < directoryOffset) throw archiveRefused(strayBytes(sorted.at(-1)));
  return placed;
}

const strayBytes = (before: CheckedEntry | undefined): string =>
  before === undefined
    ? 'has bytes before its first entry'
    : 'has bytes between its entries that belong to none of them';

const DESCRIPTOR_FOLLOWS = 0x0008;
const ENCRYPTED = 0x0001;
const UNKNOWN_32 = 0xffffffff;

function checkLocalHeader(entry: CheckedEntry, local: LocalFileHeader, hasDescriptor: boolean): void {
  const contradicts = (what: string): never => {
    throw entryRefused(entry.name, `has two headers that contradict each other (${what})`);
  };
  if (!local.fileName.equals(entry.header.fileNameRaw)) contradicts('name');
  const fields = extraFields(entry, local);
  const unicode = unicodePath(local.fileName, fields);
  if (unicode !== undefined && unicode.toString() !== entry.name) contradicts('Unicode name');
  if (local.compressionMethod !== entry.method) contradicts('method');
  if (((local.generalPurposeBitFlag ^ entry.header.generalPurposeBitFlag) & ENCRYPTED) !== 0) contradicts('encryption');
  // "If bit 3 is set, the fields crc-32, compressed size and uncompressed size are set to zero in the local header."
  const agrees = (said: number, real: number): boolean => said === real || (hasDescriptor && said === 0);
  const [long] = fields.filter(({ id }) => id === ZIP64_FIELD);
  const sizeAgrees = (said: number, real: number, at: number): boolean =>
    said === UNKNOWN_32 && long !== undefined && long.data.length >= at + 8
      ? agrees(Number(long.data.readBigUInt64LE(at)), real)
      : agrees(said, real) || (hasDescriptor && said === UNKNOWN_32);
  if (!agrees(local.crc32, entry.crc)) contradicts('CRC');
  if (!sizeAgrees(local.uncompressedSize, entry.size, 0)) contradicts('size');
  const at = local.uncompressedSize === UNKNOWN_32 ? 8 : 0;
  if (!sizeAgrees(local.compressedSize, entry.compressedSize, at)) contradicts('compressed size');
}

const ZIP64_FIELD = 0x0001;

function extraFields(entry: CheckedEntry, local: LocalFileHeader): ReturnType<typeof parseExtraFields> {
  try {
    return parseExtraFields(local.extraField);
  } catch (cause) {
    throw entryRefused(entry.name, 'has damaged extra fields in its header', cause);
  }
}

const DESCRIPTOR = 0x08074b50;

/** CRC and sizes behind the data, with or without a signature, with sizes of 4 or 8 bytes. */
function checkDescriptor(entry: CheckedEntry, found: Buffer): void {
  const signature = Buffer.alloc(4);
  signature.writeUInt32LE(DESCRIPTOR);
  const crc = Buffer.alloc(4);
  crc.writeUInt32LE(entry.crc);
  const sizes = [entry.compressedSize, entry.size];
  const short = Buffer.from(Uint32Array.from(sizes).buffer);
  const long = Buffer.from(BigUint64Array.from(sizes.map(BigInt)).buffer);
  const forms = [short, long].flatMap((form) => [Buffer.concat([crc, form]), Buffer.concat([signature, crc, form])]);
  if (!forms.some((form) => form.equals(found))) {
    throw entryRefused(entry.name, 'is followed by something else than its data descriptor');
  }
}
