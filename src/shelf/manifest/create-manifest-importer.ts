import { pathToFileURL } from 'node:url';
import type { Config } from '../../config/config.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { ImportTarget } from '../import/import-zip.ts';
import type { Lookup } from './http-client.ts';
import { MANIFEST_LIMITS, ManifestRun, type AroundEntry, type ManifestLimits } from './manifest-run.ts';
import { resolveLocation, type ManifestEntry } from './parse-manifest.ts';
import { Sources, type LocationPolicy } from './sources.ts';
import type { ChangeAuthor } from '../change-author.ts';
import type { KoId } from '../../knowledge-object/id.ts';

interface ManifestImporterOptions {
  readonly config: Pick<Config, 'profile' | 'fileManifests' | 'privateManifests'>;
  readonly target: ImportTarget;
  readonly log: Pick<Logger, 'debug'>;
  readonly around?: AroundEntry | undefined;
  /** Aborted once the service stops, which then waits for no attempt to connect. */
  readonly stopped?: AbortSignal;
  /** For tests. */
  readonly manifestLimits?: ManifestLimits;
  /** For tests. */
  readonly lookup?: Lookup;
}

/**
 * "`file:` locations and private or loopback addresses are allowed in dev and for the operator's `--manifest`; for
 * manifests posted over HTTP outside dev they need `--allow-file-manifests DIR` / `--allow-private-manifests`."
 */
export function createManifestImporter(options: ManifestImporterOptions): ManifestImporter {
  const { config, target, log, around, manifestLimits: limits = MANIFEST_LIMITS, lookup, stopped } = options;
  const operator: LocationPolicy = { files: 'any', privateAddresses: true };
  const posted: LocationPolicy =
    config.profile === 'dev'
      ? operator
      : { files: { within: config.fileManifests }, privateAddresses: config.privateManifests };

  async function run(
    policy: LocationPolicy,
    work: (run: ManifestRun) => Promise<ManifestOutcome[]>,
    by: ImportedFor = {},
  ): Promise<ManifestOutcome[]> {
    await using sources = new Sources({ policy, redirects: limits.redirects, lookup, stopped });
    const outcomes = await work(new ManifestRun({ target, sources, limits, around, ...by }));
    for (const { location, error } of outcomes) {
      if (error?.cause !== undefined) log.debug({ location, cause: messageOf(error.cause) }, 'manifest entry failed');
    }
    return outcomes;
  }

  return {
    importPosted: (body, by) => run(posted, (each) => each.importPosted(body), by),
    importPostedList: (body, by) => run(posted, (each) => each.importPostedList(body), by),
    importNamed: (location) => run(operator, (each) => each.importListed([namedLocation(location)])),
  };
}

/** A URL, or a path from where the service was started. */
const namedLocation = (location: string): ManifestEntry =>
  /^[a-z][a-z\d+.-]*:/i.test(location) ? resolveLocation(location) : { location, url: pathToFileURL(location) };

export interface ManifestOutcome {
  readonly location: string;
  readonly id?: KoId;
  /** Its `@id`, where that is another text. */
  readonly atId?: string | undefined;
  /** `sha256:<old>, sha256:<new>`, where the content of a version that was there is now another. */
  readonly digests?: string;
  readonly error?: Error;
}

/** Hears of each entry when it is done: the how-manieth, of how many. */
export type OnEntry = (outcome: ManifestOutcome, done: number, total: number) => void;

interface ImportedFor {
  readonly author?: ChangeAuthor | undefined;
  readonly onEntry?: OnEntry | undefined;
}

export interface ManifestImporter {
  /** A body of `POST /kos/manifest`. */
  importPosted(body: unknown, by?: ImportedFor): Promise<readonly ManifestOutcome[]>;
  /** A body of `POST /kos/manifest-list`: locations of manifests. */
  importPostedList(body: unknown, by?: ImportedFor): Promise<readonly ManifestOutcome[]>;
  /** A manifest that the operator named at the start. */
  importNamed(location: string): Promise<readonly ManifestOutcome[]>;
}
