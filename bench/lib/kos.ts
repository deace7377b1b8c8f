/** Knowledge objects made in code, and shelves filled with them. */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { METADATA_FILE, parseMetadata } from '../../src/knowledge-object/metadata.ts';
import { mapBounded } from '../../src/lib/fair-queue.ts';
import { admit } from '../../src/shelf/package/admit.ts';
import { sha256 } from '../../src/shelf/package/package-content.ts';
import { DurableFiles } from '../../src/shelf/store/durable-files.ts';
import { makeDatabase } from '../../src/shelf/store/make-database.ts';
import { ObjectsFolder } from '../../src/shelf/store/objects-folder.ts';
import { databaseIn } from '../../src/shelf/store/open-stored-shelf.ts';
import { textsOf } from '../../src/shelf/store/package-listing.ts';
import { shelfLayout } from '../../src/shelf/store/shelf-layout.ts';
import { javascriptKo, type Ko } from '../../test/acceptance/support/ko.ts';
import type { Bench } from './bench.ts';
import type { BareKo } from './servers.ts';
import type { BenchRequest } from './wrk.ts';

/** A knowledge object, and the same work as a bare server does it. */
export interface BenchKo {
  readonly ko: Ko;
  readonly bare: BareKo;
  readonly call: BenchRequest;
}

/** About 110 bytes. */
export const INPUT = JSON.stringify({
  name: 'Ada Lovelace',
  age: 36,
  weight: 72.5,
  creatinine: 1.1,
  female: true,
  doses: [10, 20, 30, 40],
  unit: 'mg',
});

/** What a small calculator does. */
export const CLEARANCE = `
function run(input) {
  const clearance = ((140 - input.age) * input.weight * (input.female ? 0.85 : 1)) / (72 * input.creatinine);
  const total = input.doses.reduce((sum, dose) => sum + dose, 0);
  return { name: input.name, clearance: Math.round(clearance * 10) / 10, total };
}`;

const NAAN = 'bench';
/** Brings the metadata to about 600 bytes. */
const DESCRIPTION =
  'Estimates the clearance of creatinine from age, weight, sex and serum creatinine, by the formula of Cockcroft and Gault, for the adjustment of the doses of drugs that leave the body by the kidneys, in adults.';

export interface OtherEngine {
  readonly engine: string;
  readonly artifact: string;
  readonly function: string;
  readonly code: string;
}

/** `code` defines `run`; `other` is the same work for another engine. */
export function benchKo(name: string, code: string, other?: OtherEngine): BenchKo {
  const { engine = 'javascript', artifact = 'src/index.js', function: entry = 'run' } = other ?? {};
  const ko = javascriptKo(other?.code ?? code, {
    naan: NAAN,
    name,
    artifact,
    function: entry,
    deployment: { engine },
    metadata: { description: DESCRIPTION, keywords: ['nephrology', 'dosing'] },
  });
  const id = endpointId(name);
  return {
    // Without white space, as a bare server writes it.
    ko: { ...ko, files: { ...ko.files, 'metadata.json': JSON.stringify(ko.metadata) } },
    bare: { path: `/${id}`, id, code, metadata: ko.metadata },
    call: { method: 'POST', path: `/${id}`, body: INPUT },
  };
}

export const endpointId = (name: string): string => `${NAAN}/${name}/1.0/run`;

export const manyKos = (count: number): BenchKo[] =>
  Array.from({ length: count }, (_, i) => benchKo(`ko${i}`, CLEARANCE));

const AT_ONCE = 8;

/** A new shelf that holds them, written directly: to import tens of thousands would take longer than to measure them. */
export async function makeShelf(bench: Pick<Bench, 'folder' | 'signal'>, kos: readonly BenchKo[]): Promise<string> {
  const folder = await mkdtemp(join(bench.folder, 'shelf-'));
  const layout = shelfLayout(folder);
  for (const each of [layout.objects, layout.staging]) await mkdir(each, { recursive: true });
  const disk = new DurableFiles(undefined, { syncs: false });
  const objects = new ObjectsFolder({ folder: layout.objects, staging: layout.staging, disk });
  const packages = await mapBounded(kos, AT_ONCE, async ({ ko }) => {
    bench.signal.throwIfAborted();
    const sources = Object.entries(ko.files).map(([path, content]) => ({
      path,
      size: Buffer.byteLength(content),
      sha256: sha256(content),
      from: { text: String(content) },
    }));
    const metadata = String(ko.files[METADATA_FILE]);
    const content = admit(parseMetadata(metadata, NAAN).id, metadata, sources);
    await objects.put([...textsOf(content), ...sources], () => Promise.resolve(true));
    return { content, why: undefined, at: 0 };
  });
  await makeDatabase(databaseIn(layout), folder, packages);
  return folder;
}
