/** Knowledge objects made in code, and shelves filled with them. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { mapBounded } from '../../src/lib/fair-queue.ts';
import { importZip } from '../../src/shelf/import/import-zip.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../../src/shelf/import/limits.ts';
import { openShelf } from '../../src/shelf/open-shelf.ts';
import { javascriptKo, type Ko, zipOf } from '../../test/acceptance/support/ko.ts';
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

const CONCURRENT_IMPORTS = 8;

/** A new shelf that holds them, taken in as an upload is. */
export async function makeShelf(bench: Pick<Bench, 'folder' | 'signal'>, kos: readonly BenchKo[]): Promise<string> {
  const folder = await mkdtemp(join(bench.folder, 'shelf-'));
  await using shelf = await openShelf(folder);
  await mapBounded(kos, CONCURRENT_IMPORTS, async ({ ko }) => {
    bench.signal.throwIfAborted();
    await importZip(Readable.from([await zipOf(ko.files)]), {
      shelf,
      spool: bench.folder,
      limits: DEFAULT_PACKAGE_LIMITS,
    });
  });
  return folder;
}
