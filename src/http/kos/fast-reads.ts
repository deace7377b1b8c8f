/**
 * Systems ask again and again for the metadata of one version of a KO. Spelled as its id is, and with no condition or
 * choice of format, it is answered before the router, with the answer of the route; see `fast-path.ts`.
 */
import type { Identity } from '../../identity/identity.ts';
import { koKey, parseKoId } from '../../knowledge-object/id.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import type { FastPath } from '../fast-path.ts';
import { PACKAGE_DIGEST_HEADER } from '../headers.ts';
import type { RequestGate } from '../request-gate.ts';
import { METADATA_HEADERS, metadataText } from './read-ko.ts';

const PREFIX = '/kos/';
/** Of the route whose answers these are. */
export const KO_ROUTE = '/kos/:naan/:name/:version';

/** Answers that are kept ready; the rest is made when it is asked for. */
const MAX_PREPARED_ANSWERS = 1000;

interface Prepared {
  readonly etag: string;
  readonly headers: string[];
  readonly body: string;
}

export function fastReads(shelf: Shelf, identity: Identity, gate: RequestGate): FastPath {
  /** By `koKey`, what was made the longest ago first. */
  const prepared = new Map<string, Prepared>();
  const series = gate.seriesOf(KO_ROUTE, 'GET');
  return (request, response, next) => {
    const { method, url = '', headers } = request;
    const start = performance.now();
    // Where requests are counted, the route does it.
    const isPlain =
      identity.limits === undefined &&
      method === 'GET' &&
      isAny(headers.accept) &&
      headers['if-none-match'] === undefined;
    const id = isPlain && url.startsWith(PREFIX) ? parseKoId(url.slice(PREFIX.length)) : undefined;
    if (id === undefined || !identity.allows(identity.anybody, 'read', id)) return next(request, response);
    const onFound = (entry: ShelfEntry | undefined): void => {
      if (entry === undefined) return next(request, response);
      const requestId = gate.enter(request);
      const key = koKey(entry.id);
      let answer = prepared.get(key);
      if (answer?.etag !== entry.etag) {
        answer = prepare(entry);
        prepared.delete(key);
        prepared.set(key, answer);
        const [oldest] = prepared.size > MAX_PREPARED_ANSWERS ? prepared.keys() : [];
        if (oldest !== undefined) prepared.delete(oldest);
      }
      response.writeHead(200, [...answer.headers, ...gate.headers(request, requestId)]).end(answer.body);
      series.observe(200, (performance.now() - start) / 1000);
    };
    // What the shelf cannot tell, the route will hear too, and put in words.
    shelf
      .find(id)
      .then(onFound, () => next(request, response))
      .catch((thrown: unknown) => gate.fail(request, response, thrown));
  };
}

const isAny = (accept: string | undefined): boolean =>
  accept === undefined || accept === '*/*' || accept === 'application/json';

function prepare(entry: ShelfEntry): Prepared {
  const body = metadataText(entry);
  const headers = {
    ...METADATA_HEADERS,
    'content-location': `/kos/${koKey(entry.id)}`,
    etag: entry.etag,
    [PACKAGE_DIGEST_HEADER]: packageDigestOf(entry),
    'content-length': String(Buffer.byteLength(body)),
  };
  return { etag: entry.etag, headers: Object.entries(headers).flat(), body };
}
