/** What a question for a part of a list says: "`?limit=&after=` and `?q=` shorten them, a `Link` header leads on." */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import type { Endpoint, EndpointStatus } from '../../activation/endpoint.ts';
import { koKey, parseKoId } from '../../knowledge-object/id.ts';
import { malformedRequest } from '../../lib/errors.ts';
import { firstWhere } from '../../lib/first-where.ts';
import { prefixOf } from '../address.ts';
import type { EndpointTexts } from './endpoint-texts.ts';

/** Entries of a page. */
const MAX_LIMIT = 1000;
/** Characters that somebody looks for. */
const MAX_SEARCH_CHARACTERS = 200;

/** A question for a part of a list whose places are of type `P`. */
export interface ListQuery<P> {
  /** Entries of the answer; all where it is left out. */
  readonly limit: number | undefined;
  /** Only what comes behind this place. */
  readonly after: P | undefined;
  /** What is looked for; empty where all is meant. */
  readonly search: string;
}

/** Undefined where the whole list is asked for. `parsePlace` gives undefined for a text that is no place. @throws malformedRequest. */
export function listQueryOf<P>(
  request: FastifyRequest,
  parsePlace: (text: string) => P | undefined,
): ListQuery<P> | undefined {
  const limit = numberIn(request, 'limit', MAX_LIMIT);
  const place = textIn(request, 'after');
  const after = place === undefined ? undefined : parsePlace(place);
  if (place !== undefined && after === undefined)
    throw malformedRequest('after names no place of this list: take it from the Link header of an earlier page');
  const search = textIn(request, 'q')?.trim() ?? '';
  if (search.length > MAX_SEARCH_CHARACTERS)
    throw malformedRequest(`q is longer than ${MAX_SEARCH_CHARACTERS} characters: look for less`);
  return limit === undefined && after === undefined && search === '' ? undefined : { limit, after, search };
}

/** What the query says under that name; an empty text says nothing. @throws malformedRequest. */
export function textIn(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Readonly<Record<string, string | readonly string[] | undefined>>)[name];
  if (value === undefined || typeof value === 'string') return value === '' ? undefined : value;
  throw malformedRequest(`${name} is given more than once: give it once`);
}

/** A whole number from 1. @throws malformedRequest. */
export function numberIn(request: FastifyRequest, name: string, most: number): number | undefined {
  const value = textIn(request, name);
  if (value === undefined) return undefined;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > most) throw malformedRequest(`${name} must be a whole number from 1 to ${most}`);
  return number;
}

/** Leads to the page behind this one (RFC 8288). `path`: the list, without its query. */
export function linkNext(request: FastifyRequest, reply: FastifyReply, path: string, after: string): void {
  const next = new URLSearchParams(request.query as Record<string, string>);
  next.set('after', after);
  void reply.header('link', `<${prefixOf(request)}${path}?${next.toString()}>; rel="next"`);
}

/** A part of a list that is there as a whole, at the cost of the part. */
export interface Page<T> {
  readonly entries: readonly T[];
  /** True where more follow. */
  readonly more: boolean;
}

/** `isBehind`: false for the first entries of the list, and true for all others. `limit`: none where all are meant. */
export function pageOf<T>(
  list: readonly T[],
  isBehind: (entry: T) => boolean,
  isFound: (entry: T) => boolean,
  limit = Infinity,
): Page<T> {
  const entries: T[] = [];
  for (let i = firstWhere(list, isBehind); i < list.length; i++) {
    const entry = list[i];
    if (entry === undefined || !isFound(entry)) continue;
    if (entries.length === limit) return { entries, more: true };
    entries.push(entry);
  }
  return { entries, more: false };
}

/** Which knowledge object `?ko=` names, whether it is there or not. @throws malformedRequest. */
export function koIn(request: FastifyRequest): string | undefined {
  const text = textIn(request, 'ko');
  if (text === undefined) return undefined;
  const id = parseKoId(text);
  if (id === undefined) throw malformedRequest('ko must be <naan>/<name>/<version>');
  return koKey(id);
}

// The list of all endpoints, which is made anew only where something in it has changed.

/** Addresses are the client's to choose: only so many are remembered. */
const MAX_ADDRESSES = 8;

interface Made {
  readonly bodies: Map<string, Buffer>;
  /** Those that may change, with what was said of them. */
  readonly open: readonly (readonly [endpoint: Endpoint, status: EndpointStatus, detail: string | undefined])[];
}

export class WholeList {
  readonly #texts: EndpointTexts;
  readonly #made = new WeakMap<EndpointSet, Made>();

  constructor(texts: EndpointTexts) {
    this.#texts = texts;
  }

  /** For clients that came by this address. */
  of(set: EndpointSet, address: string): Buffer {
    let made = this.#made.get(set);
    if (made === undefined || !isAsItWas(made)) this.#made.set(set, (made = { bodies: new Map(), open: openIn(set) }));
    const { bodies } = made;
    const known = bodies.get(address);
    if (known !== undefined) return known;
    const body = Buffer.from(this.#texts.listOf(set.endpoints, address));
    if (bodies.size < MAX_ADDRESSES) bodies.set(address, body);
    return body;
  }
}

const openIn = ({ endpoints }: EndpointSet): Made['open'] =>
  endpoints.filter(({ mayChange }) => mayChange).map((each) => [each, each.status, each.detail]);

const isAsItWas = ({ open }: Made): boolean =>
  open.every(([{ status, detail }, before, saidBefore]) => status === before && detail === saidBefore);
