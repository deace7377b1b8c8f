/** Names that come from outside: identifiers of endpoints and paths of artifacts. */
import { refused } from './errors.ts';
import { withoutSlashes } from '../../../src/lib/text.ts';

const segment = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,64}$/;
/** The first segment of the activator's own paths, which no knowledge object can have. */
const reserved = new Set([
  'kos',
  'endpoints',
  'actuator',
  'proxy',
  'doc',
  'console',
  'info',
  'register',
  'dependencies',
]);

/** Characters: 16 segments of 64, with room for slashes at the ends. */
const maxUriCharacters = 2048;

/** `<naan>/<name>/<version>/<endpoint>`, where the endpoint may have several segments. @throws RuntimeError 400. */
export function parseUri(text: unknown): string {
  const uri = typeof text === 'string' && text.length <= maxUriCharacters ? withoutSlashes(text) : '';
  if (isUri(uri, 4)) return uri;
  throw refused('uri must be <naan>/<name>/<version>/<endpoint>');
}

/** Whether the text names an endpoint; calls may leave the version out and then have three segments. */
export function isUri(text: string, segments: 3 | 4): boolean {
  if (text.length > maxUriCharacters) return false;
  const parts = text.split('/');
  return (
    parts.length >= segments &&
    parts.length <= 16 &&
    parts.every((part) => segment.test(part)) &&
    !reserved.has(parts[0] ?? '')
  );
}

const maxPathCharacters = 1024;

/** A path inside the knowledge object, relative and without `.` or `..`. @throws RuntimeError 400. */
export function parseArtifactPath(text: unknown): string {
  const path = typeof text === 'string' && text.length <= maxPathCharacters ? text.replace(/^\.?\//, '') : '';
  const parts = path.split('/');
  const fits = parts.every((part) => part !== '' && part !== '.' && part !== '..' && part.length <= 255);
  if (fits && !/[\\\p{Cc}]/v.test(path)) return path;
  throw refused(`not a path of an artifact: ${String(JSON.stringify(cut(text)))}`);
}

const cut = (text: unknown): unknown => (typeof text === 'string' ? text.slice(0, 200) : typeof text);
