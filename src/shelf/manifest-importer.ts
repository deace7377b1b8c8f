/** Imports by manifest, under the rules for whoever gave it. */
import type { ChangeAuthor } from './change-author.ts';
import type { KoId } from '../knowledge-object/id.ts';

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

export interface ImportedFor {
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
