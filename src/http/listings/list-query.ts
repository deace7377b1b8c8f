/** What a question for a part of a list says: "`?limit=&after=` and `?q=` shorten them, a `Link` header leads on." */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { malformedRequest } from '../../lib/errors.ts';
import { prefixOf } from '../address.ts';

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
