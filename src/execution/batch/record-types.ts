/** The media types of NDJSON, of which each line is a call of its own. */
import { mediaTypeOf } from '../../lib/media-type.ts';

const RECORD_TYPES: ReadonlySet<string> = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/fhir+ndjson',
]);

/** The type, without parameters and in lower case, where it is one of records. */
export function recordTypeOf(contentType: string | undefined): string | undefined {
  if (contentType === undefined || contentType === 'application/json') return undefined;
  const type = mediaTypeOf(contentType);
  return RECORD_TYPES.has(type) ? type : undefined;
}
