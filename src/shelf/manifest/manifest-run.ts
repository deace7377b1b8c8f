import type { Readable } from 'node:stream';
import { otherAtId } from '../../knowledge-object/metadata.ts';
import { importRefused, malformedRequest, outcomeOf, ServiceError } from '../../lib/errors.ts';
import { mapBounded } from '../../lib/fair-queue.ts';
import { GrowingBytes } from '../../lib/growing-bytes.ts';
import { withoutMark } from '../../lib/text.ts';
import { bytes } from '../archive/archive.ts';
import type { ChangeAuthor } from '../change-author.ts';
import { importZip, type ImportTarget } from '../import/import-zip.ts';
import type { ManifestOutcome, OnEntry } from './create-manifest-importer.ts';
import { listIn, parseManifest, parseManifestText, type ManifestEntry } from './parse-manifest.ts';
import { toReadableError, type Sources } from './sources.ts';

/** How much one run may ask for. */
export interface ManifestLimits {
  /** Entries over all manifests of a run. */
  readonly entries: number;
  /** Bytes of one `manifest.json`. */
  readonly manifest: number;
  /** Milliseconds until a location must have given all its bytes. */
  readonly timeout: number;
  readonly redirects: number;
  /** Locations that are read at the same time. */
  readonly parallel: number;
}

/** "Limits: 10,000 entries, 30 s an entry, 3 redirects, each hop re-checked." */
export const MANIFEST_LIMITS: ManifestLimits = {
  entries: 10_000,
  manifest: 10 * 2 ** 20,
  timeout: 30_000,
  redirects: 3,
  parallel: 6,
};

export interface ManifestRunOptions {
  readonly target: ImportTarget;
  readonly sources: Sources;
  readonly limits: ManifestLimits;
  readonly around?: AroundEntry | undefined;
  readonly onEntry?: OnEntry | undefined;
  readonly author?: ChangeAuthor | undefined;
}

/** Runs the import of an entry where something is to be learned of it. */
export type AroundEntry = (location: string, work: () => Promise<ManifestOutcome>) => Promise<ManifestOutcome>;

const ZIP = 'application/zip, */*;q=0.1';
const JSON_FIRST = 'application/json, */*;q=0.1';

/** Reads manifests and imports what they name. Failures are outcomes, never thrown; the order is that of the entries. */
export class ManifestRun {
  readonly #options: ManifestRunOptions;
  /** Entries found in listed manifests so far. */
  #listed = 0;

  constructor(options: ManifestRunOptions) {
    this.#options = options;
  }

  /** Imports what a manifest that was posted names. @throws malformedRequest for too many entries. */
  async importPosted(manifest: unknown): Promise<ManifestOutcome[]> {
    const entries = await this.#entriesIn(manifest);
    return this.#importAll(entries);
  }

  /** … and what is named by the manifests that one names. @throws malformedRequest for too many entries. */
  async importPostedList(manifest: unknown): Promise<ManifestOutcome[]> {
    return this.importListed(await this.#entriesIn(manifest));
  }

  /** Imports what is named by the manifests at these locations. */
  async importListed(manifests: readonly ManifestEntry[]): Promise<ManifestOutcome[]> {
    const read = await mapBounded(manifests, this.#options.limits.parallel, (manifest) => this.#entriesOf(manifest));
    return this.#importAll(read.flat());
  }

  /** The entries of a manifest; one with the error when it cannot be read. */
  async #entriesOf({ location, url, error }: ManifestEntry): Promise<ManifestEntry[]> {
    if (url === undefined) return [{ location, ...(error === undefined ? {} : { error }) }];
    const { sources, limits } = this.#options;
    try {
      const opened = await sources.open(url, JSON_FIRST, AbortSignal.timeout(limits.timeout));
      const manifest = parseJson(await boundedText(opened.content, limits.manifest));
      const { length } = listIn(manifest);
      if (this.#listed + length > limits.entries) {
        throw importRefused(`has ${length} entries, which makes more than the ${limits.entries} of one request`);
      }
      this.#listed += length;
      return await parseManifest(manifest, opened.url);
    } catch (thrown) {
      return [{ location, error: toReadableError(thrown, limits.timeout) }];
    }
  }

  #importAll(entries: readonly ManifestEntry[]): Promise<ManifestOutcome[]> {
    const { limits, onEntry } = this.#options;
    let done = 0;
    return mapBounded(entries, limits.parallel, async (entry) => {
      const outcome = await this.#importOne(entry);
      onEntry?.(outcome, ++done, entries.length);
      return outcome;
    });
  }

  #importOne(entry: ManifestEntry): Promise<ManifestOutcome> {
    const { around } = this.#options;
    const work = (): Promise<ManifestOutcome> => this.#import(entry);
    return around === undefined ? work() : around(entry.location, work);
  }

  async #import({ location, url, beside, error }: ManifestEntry): Promise<ManifestOutcome> {
    const { target, sources, limits } = this.#options;
    if (url === undefined) {
      target.observe?.(outcomeOf(error));
      return { location, ...(error === undefined ? {} : { error }) };
    }
    let content: Readable | undefined;
    try {
      ({ content } = await sources.open(url, ZIP, AbortSignal.timeout(limits.timeout), beside));
      const { entry, digests } = await importZip(content, target, this.#options.author);
      target.observe?.('done');
      return {
        location,
        id: entry.id,
        atId: otherAtId(entry.id, entry.metadata),
        ...(digests === undefined ? {} : { digests }),
      };
    } catch (thrown) {
      const refusal = toReadableError(thrown, limits.timeout);
      target.observe?.(outcomeOf(refusal));
      return { location, error: refusal };
    } finally {
      content?.destroy();
    }
  }

  /** Counted before any is read. */
  #entriesIn(manifest: unknown): Promise<ManifestEntry[]> {
    const { entries } = this.#options.limits;
    const { length } = listIn(manifest);
    if (length > entries) throw malformedRequest(`The manifest has ${length} entries; it may have ${entries}`);
    return parseManifest(manifest);
  }
}

async function boundedText(content: Readable, limit: number): Promise<string> {
  const text = new GrowingBytes();
  for await (const chunk of content as AsyncIterable<Buffer>) {
    text.add(chunk);
    if (text.size > limit) throw importRefused(`is larger than the ${bytes(limit)} that a manifest may have`);
  }
  return text.take().toString();
}

function parseJson(text: string): unknown {
  try {
    return parseManifestText(withoutMark(text));
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw importRefused('is not a manifest: it is not valid JSON', { cause });
  }
}
