/**
 * Systems ask again and again for the metadata of one version of a KO. Spelled as its id is, and with no condition or
 * choice of format, it is answered before the router, with the answer of the route; see `plain-ways.ts`.
 */
import { parseKoId } from '../../knowledge-object/id.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { REQUEST_ID_HEADER } from '../../engines/call-headers.ts';
import { corsHeadersFor } from '../access/cors.ts';
import type { HeaderList } from '../access/cors.ts';
import type { PlainWay } from '../plain-ways.ts';
import { PACKAGE_DIGEST_HEADER, packageDigestOf } from '../package-digest.ts';
import type { RequestIds } from '../request-ids.ts';
import { METADATA_HEADERS, metadataText } from './metadata-answer.ts';

const PREFIX = '/kos/';

interface Prepared {
  readonly headers: string[];
  readonly body: string;
}

/** `onRequest` is called for each request that the router never sees. */
export function plainReads(shelf: Shelf, ids: RequestIds, onRequest: () => void): PlainWay {
  const prepared = new WeakMap<ShelfEntry, Prepared>();
  return (request, response, next) => {
    const { method, url = '', headers } = request;
    const isPlain = method === 'GET' && isAny(headers.accept) && headers['if-none-match'] === undefined;
    const id = isPlain && url.startsWith(PREFIX) ? parseKoId(url.slice(PREFIX.length)) : undefined;
    if (id === undefined) return next(request, response);
    const onFound = (entry: ShelfEntry | undefined): void => {
      if (entry === undefined) return next(request, response);
      onRequest();
      let answer = prepared.get(entry);
      if (answer === undefined) prepared.set(entry, (answer = prepare(entry, corsHeadersFor(request))));
      response.writeHead(200, [...answer.headers, REQUEST_ID_HEADER, ids.of(request)]).end(answer.body);
    };
    // What the shelf cannot tell, the route will hear too, and put in words.
    shelf.find(id).then(onFound, () => next(request, response));
  };
}

const isAny = (accept: string | undefined): boolean =>
  accept === undefined || accept === '*/*' || accept === 'application/json';

/** Every GET gets the same headers. */
function prepare(entry: ShelfEntry, corsHeaders: HeaderList): Prepared {
  const body = metadataText(entry);
  const headers = {
    ...METADATA_HEADERS,
    etag: entry.etag,
    [PACKAGE_DIGEST_HEADER]: packageDigestOf(entry),
    'content-length': String(Buffer.byteLength(body)),
  };
  return { headers: [...Object.entries(headers).flat(), ...corsHeaders], body };
}
