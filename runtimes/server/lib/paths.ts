/** Names that come from outside: identifiers of endpoints and paths of artifacts. */
import { isEndpointPart, NEVER_NAANS } from '../../../src/knowledge-object/id.ts';
import { isPackagePath } from '../../../src/knowledge-object/package-path.ts';
import { malformedRequest } from '../../../src/lib/errors.ts';
import { withoutSlashes } from '../../../src/lib/text.ts';

/** Paths of the runtime itself, which no knowledge object can have. */
const OWN_PATHS: ReadonlySet<string> = new Set(['info', 'register', 'dependencies']);

/** 16 segments of 64 characters, with room for slashes at the ends. */
const MAX_URI_CHARACTERS = 2048;
const MAX_SEGMENTS = 16;

/** `<naan>/<name>/<version>/<endpoint>`, where the endpoint may have several segments. @throws malformedRequest. */
export function parseUri(text: unknown): string {
  const uri = typeof text === 'string' && text.length <= MAX_URI_CHARACTERS ? withoutSlashes(text) : '';
  if (isUri(uri, 4)) return uri;
  throw malformedRequest('uri must be <naan>/<name>/<version>/<endpoint>');
}

/** Whether the text names an endpoint; calls may leave the version out and then have three segments. */
export function isUri(text: string, segments: 3 | 4): boolean {
  if (text.length > MAX_URI_CHARACTERS) return false;
  const parts = text.split('/');
  const [naan = ''] = parts;
  const fits = parts.length >= segments && parts.length <= MAX_SEGMENTS && parts.every(isEndpointPart);
  return fits && !NEVER_NAANS.has(naan) && !OWN_PATHS.has(naan);
}

/** A path inside the knowledge object, relative and without `.` or `..`. @throws malformedRequest. */
export function parseArtifactPath(text: unknown): string {
  const path = typeof text === 'string' ? text.replace(/^\.?\//, '') : '';
  if (isPackagePath(path)) return path;
  const said = typeof text === 'string' ? text.slice(0, 200) : typeof text;
  throw malformedRequest(`not a path of an artifact: ${JSON.stringify(said)}`);
}
