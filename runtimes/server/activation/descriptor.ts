/** What the activator sends to `POST /endpoints`, checked. */
import type { EndpointPlan } from '../../../src/engines/engine.ts';
import { malformedRequest } from '../../../src/lib/errors.ts';
import { parseArtifactPath, parseUri } from '../lib/paths.ts';

export interface Descriptor {
  /** `<naan>/<name>/<apiVersion>/<endpoint>`. */
  readonly uri: string;
  /** `<naan>/<name>/<version>` of the knowledge object, whose version may be spelt otherwise than in `uri`. */
  readonly ko: string;
  /** Where the artifacts are, ending with a slash. */
  readonly baseUrl: URL;
  readonly artifacts: readonly string[];
  readonly entry: string;
  readonly function: string;
  /** Changes with any file of the package. */
  readonly checksum: string | undefined;
  /** Milliseconds that a call may take; the limit of the runtime where it is left out. */
  readonly timeoutMs?: number;
  /** Present where the code is a package to install. */
  readonly installs?: EndpointPlan['installs'];
}

const maxArtifacts = 5_000;

/** @throws malformedRequest. */
export function parseDescriptor(body: unknown, ofRuntime: string): Descriptor {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw malformedRequest('The body must be a JSON object');
  const fields = body as Readonly<Record<string, unknown>>;
  const uri = parseUri(fields['uri']);
  const engine = fields['engine'];
  if (typeof engine === 'string' && engine.toLowerCase() !== ofRuntime) {
    throw malformedRequest(`This runtime has the engine ${ofRuntime}, not ${engine.slice(0, 100)}`);
  }
  const baseUrl = parseBaseUrl(fields['baseUrl']);
  const list = [fields['artifact'] ?? []].flat();
  if (list.length > maxArtifacts) throw malformedRequest(`More than ${maxArtifacts} artifacts`);
  const listed = list.map(parseArtifactPath);
  const entry = parseArtifactPath(fields['entry'] ?? listed[0]);
  const artifacts = [...new Set([entry, ...listed])].sort();
  const name = fields['function'];
  const checksum = fields['checksum'];
  const timeout = fields['timeout'];
  const installs = installsOf(fields);
  return {
    uri,
    ko: koOf(baseUrl) ?? uri.split('/').slice(0, 3).join('/'),
    baseUrl,
    artifacts,
    entry,
    function: typeof name === 'string' && name ? name : 'default',
    checksum: typeof checksum === 'string' && checksum ? checksum.slice(0, 200) : undefined,
    ...(typeof timeout === 'number' && timeout > 0 ? { timeoutMs: timeout } : {}),
    ...(installs && { installs }),
  };
}

/** Where there is a `folder` to install, `package`, `module` or both say what to import. */
function installsOf(fields: Readonly<Record<string, unknown>>): Descriptor['installs'] {
  const { folder, package: named, module } = fields;
  if (folder === undefined || folder === null) return undefined;
  if (typeof named !== 'string' && typeof module !== 'string')
    throw malformedRequest('package or module must be a text');
  return {
    folder: folder === '' ? '' : parseArtifactPath(folder),
    ...(typeof named === 'string' && { package: named }),
    ...(typeof module === 'string' && { module }),
  };
}

function parseBaseUrl(text: unknown): URL {
  const url = typeof text === 'string' ? URL.parse(text.endsWith('/') ? text : `${text}/`) : null;
  if (url && ['http:', 'https:'].includes(url.protocol)) return url;
  throw malformedRequest('baseUrl must be an http or https address');
}

const koOf = (baseUrl: URL): string | undefined =>
  /\/proxy\/artifacts\/([^/]+\/[^/]+\/[^/]+)\/$/.exec(baseUrl.pathname)?.[1];
