/**
 * Systems ask again and again for the metadata of one version of a KO. Spelled as its id is, and with no condition or
 * choice of format, it is answered before the router, with the answer of the route; see `plain-ways.ts`.
 */
import { parseKoId } from '../../knowledge-object/id.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { corsHeadersFor } from '../access/cors.ts';
import type { PlainWay } from '../plain-ways.ts';
import { METADATA_HEADERS, metadataText } from './metadata-answer.ts';

const PREFIX = '/kos/';

interface Prepared {
  readonly headers: readonly string[];
  readonly body: string;
}

export function plainReads(shelf: Shelf): PlainWay {
  const prepared = new WeakMap<ShelfEntry, Prepared>();
  return (request, response) => {
    const { method, url = '', headers } = request;
    if (method !== 'GET' || !url.startsWith(PREFIX)) return false;
    if (!isAny(headers.accept) || headers['if-none-match'] !== undefined) return false;
    const id = parseKoId(url.slice(PREFIX.length));
    if (id === undefined) return false;
    return shelf.find(id).then(
      (entry) => {
        if (entry === undefined) return false;
        const answer = prepared.get(entry) ?? prepare(entry);
        prepared.set(entry, answer);
        response.writeHead(200, [...answer.headers, ...corsHeadersFor(request)]).end(answer.body);
        return true;
      },
      () => false,
    );
  };
}

const isAny = (accept: string | undefined): boolean =>
  accept === undefined || accept === '*/*' || accept === 'application/json';

function prepare(entry: ShelfEntry): Prepared {
  const body = metadataText(entry);
  const headers = { ...METADATA_HEADERS, etag: entry.etag, 'content-length': String(Buffer.byteLength(body)) };
  return { headers: Object.entries(headers).flat(), body };
}
