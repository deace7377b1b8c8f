/** `metadata.json`: what a knowledge object says of itself. */
import { withoutMark } from '../lib/byte-order-mark.ts';
import { importRefused } from '../lib/errors.ts';
import type { PackageProblem } from '../lib/errors.ts';
import { koKey } from './id.ts';
import type { KoId } from './id.ts';
import type { LibraryRef } from './libraries.ts';
import { LinkedObject } from './linked-data.ts';
import type { Report } from './metadata-parts.ts';
import { metadataProblem, parseObject } from './metadata-text.ts';
import { plainAtId } from './places.ts';
import { readFirstGeneration } from './read-first-generation.ts';
import { isSecondGeneration, readSecondGeneration } from './read-second-generation.ts';
import type { DeclaredServices } from './service-refs.ts';

export { METADATA_FILE, metadataProblem, tooManyValues } from './metadata-text.ts';

/** What the service reads of a `metadata.json`, of either generation; everything else in it is kept in `text` alone. */
export interface KoMetadata extends DeclaredServices {
  /** Its place on the shelf. */
  readonly id: KoId;
  /** The `@id` as it is written. */
  readonly atId: string;
  /** To be told to people: what differs between the two is said by the other fields. */
  readonly generation: 1 | 2;
  /** As written, such as `ark:/<naan>/<name>/<version>`; of several the first. */
  readonly identifier?: string;
  /** As written; a number is taken by its source, so that `1.0` stays `1.0`. */
  readonly version?: string;
  readonly title?: string;
  readonly description?: string;
  /** What it offers where it deploys nothing: of the second generation only. */
  readonly libraries?: readonly LibraryRef[];
  /** What must name the same knowledge object as its `@id`. */
  readonly claims: Claims;
  /** The JSON text as it was read, without a byte order mark: fit to stand inside another JSON text. */
  readonly text: string;
}

export interface Claims {
  /** Of these identifiers at least one, where there is one. */
  readonly identifiers: readonly string[];
  readonly version?: string;
  /** Paths that may be the address of a service beside `/<naan>/<name>` and `/<naan>/<name>/<apiVersion>`. */
  readonly addresses: readonly string[];
}

/** What tells which files of a package describe and deploy its services. */
export type ReadableMetadata = Pick<KoMetadata, 'services' | 'hasDefaults' | 'text'>;

/**
 * Reads the text of a `metadata.json`.
 * @param defaultNaan of those whose `@id` is a word or a URL.
 * @throws importRefused when it is not a JSON object with an `@id`, when the naan is one of the service's own paths, or
 * when a field that the service relies on is not what it must be.
 */
export function parseMetadata(source: string, defaultNaan?: string): KoMetadata {
  const { metadata, problems } = readMetadata(source, defaultNaan);
  if (metadata === undefined) throw importRefused(problems.map(({ message }) => message).join('; '), { problems });
  return metadata;
}

/** The `@id` in a `metadata.json`, as `plainAtId` gives it, where it is not the text of this place. */
export function otherAtId(place: KoId, metadata: string): string | undefined {
  const atId = parseObject(withoutMark(metadata), [])?.['@id'];
  const plain = typeof atId === 'string' ? plainAtId(atId) : undefined;
  return plain === koKey(place) ? undefined : plain;
}

/** What a `metadata.json` says, as far as it can be read. */
export interface MetadataReading {
  /** Present when there are no problems. */
  readonly metadata?: KoMetadata;
  /** Present when the text is a JSON object. */
  readonly readable?: ReadableMetadata;
  readonly problems: readonly PackageProblem[];
}

/** Reads the text of a `metadata.json` and finds all that keeps it from being used. */
export function readMetadata(source: string, defaultNaan?: string): MetadataReading {
  const text = withoutMark(source);
  const problems: PackageProblem[] = [];
  const fields = parseObject(text, problems);
  if (fields === undefined) return { problems };
  const report: Report = (field, message) => problems.push(metadataProblem(text, field, message));
  const root = LinkedObject.of(fields);
  const from = { fields, root, text, report };
  const parts = isSecondGeneration(from) ? readSecondGeneration(from, defaultNaan) : readFirstGeneration(from);
  const { id, atId, services, hasDefaults } = parts;
  const readable = { services, hasDefaults, text };
  if (id === undefined || atId === undefined || problems.length > 0) return { readable, problems };
  return { metadata: { ...parts, id, atId, text }, readable, problems };
}
