/** FHIR R4: each version of a knowledge object is a Library that can be found, read and evaluated. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { Endpoint } from '../../activation/endpoint.ts';
import { Negotiation } from '../../execution/negotiation.ts';
import { EndpointForms } from '../../execution/validation/endpoint-forms.ts';
import { addressOf } from '../../http/address.ts';
import { textBody } from '../../http/body.ts';
import { EXECUTION_ID_HEADER, PACKAGE_DIGEST_HEADER } from '../../http/headers.ts';
import { declare, type Handler } from '../../http/methods.ts';
import { callOfRequest, ClientGone, type MakeProtocol } from '../../http/protocol.ts';
import { visibleShelf } from '../../identity/visible.ts';
import { compareIds, type KoId, koKey, parseKoId } from '../../knowledge-object/id.ts';
import { bodyNotReadable, notAcceptable, notFound, unsupportedMediaType } from '../../lib/errors.ts';
import { type Fields, fieldsOf, isObject } from '../../lib/json.ts';
import { boundedAccept, mediaTypeOf } from '../../lib/media-type.ts';
import { inTurns } from '../../lib/fair-queue.ts';
import { packageDigestOf } from '../../shelf/package/package-content.ts';
import type { Shelf, ShelfEntry } from '../../shelf/shelf.ts';
import { capabilityStatement } from './capability-statement.ts';
import { contentsOf, factsOf, type LibraryFacts, libraryId, libraryOf, parametersIn } from './libraries.ts';
import { FHIR_ERRORS, FHIR_JSON, FhirFault } from './outcome.ts';
import { inputOf, parametersOf } from './parameters.ts';

export interface FhirOptions {
  readonly shelf: Shelf;
  readonly publicUrl: string | undefined;
  readonly version: string;
}

const SEARCHED = ['_id', 'url', 'name', 'title', 'version', 'status'] as const;
const PAGING = new Set(['_count', '_offset', '_format', '_summary', '_elements', '_pretty']);
const DEFAULT_COUNT = 20;
const MOST_COUNT = 100;
const JSON_TYPES = new Set(['application/fhir+json', 'application/json', 'text/json', 'json']);
/** What stays of a resource whatever `_elements` and `_summary` leave out. */
const MANDATORY = ['resourceType', 'id', 'meta', 'status', 'type'];
const SUMMARY = [...MANDATORY, 'url', 'identifier', 'version', 'name', 'title', 'date', 'publisher'];

export const fhir =
  ({ shelf, publicUrl, version }: FhirOptions): MakeProtocol =>
  ({ activator, calls, identity }, { gate }) => {
    const forms = new EndpointForms();

    const activeOf = (id: KoId): Endpoint[] =>
      activator.set.ofName(id).filter(({ ko, status }) => ko.key === koKey(id) && status === 'ACTIVATED');
    const factsFor = (entry: ShelfEntry, base: string): LibraryFacts =>
      factsOf(entry, activeOf(entry.id).length > 0, base);

    /** @throws notFound. */
    const entryOf = async (request: FastifyRequest): Promise<ShelfEntry> => {
      const { id = '' } = request.params as { readonly id?: string };
      const visible = visibleShelf(shelf, request.principal.grants);
      const place = parseKoId(id.replaceAll('-', '/'));
      const found = place === undefined ? undefined : await visible.find(place);
      if (found !== undefined) return found;
      // Those whose id is a digest.
      if (/^[0-9a-f]{64}$/.test(id))
        for await (const some of inTurns(await visible.list()))
          for (const entry of some) if (libraryId(entry.id) === id) return entry;
      throw notFound(`There is no Library with this id: GET /fhir/Library lists those that are there`);
    };

    const describe = async ([first, ...rest]: readonly Endpoint[]): Promise<readonly Fields[]> => {
      if (first === undefined) return [];
      const texts = await forms.of(first, [first, ...rest]);
      return texts.map((text) => fieldsOf(JSON.parse(text)));
    };

    const metadata: Handler = (request, reply) =>
      send(request, reply, capabilityStatement(addressOf(request, publicUrl), version, SEARCHED));

    const read: Handler = async (request, reply) => {
      requireJsonFormat(request);
      if (!activator.loaded) await activator.whenLoaded();
      const base = addressOf(request, publicUrl);
      const entry = await entryOf(request);
      const library = libraryOf(entry, factsFor(entry, base));
      const endpoints = activeOf(entry.id).filter((each) => each.entry.method === 'post');
      const [form] = endpoints.length === 1 ? await describe(endpoints) : [];
      const parameter = form && parametersIn(objectOr(form['schema']), objectOr(form['responseSchema']));
      const pkg = await shelf.open(entry.id);
      try {
        const content = pkg === undefined ? [] : await contentsOf(pkg, `${base}/kos/${koKey(entry.id)}`);
        return send(request, reply, {
          ...library,
          ...(parameter && { parameter }),
          ...(content.length > 0 && { content }),
        });
      } finally {
        pkg?.release();
      }
    };

    const search: Handler = async (request, reply) => {
      requireJsonFormat(request);
      if (!activator.loaded) await activator.whenLoaded();
      const base = addressOf(request, publicUrl);
      const query = queryOf(request);
      const found: { entry: ShelfEntry; facts: LibraryFacts }[] = [];
      for await (const some of inTurns(await visibleShelf(shelf, request.principal.grants).list()))
        for (const entry of some) {
          const facts = factsFor(entry, base);
          if (query.matches(facts)) found.push({ entry, facts });
        }
      found.sort((a, b) => compareIds(a.entry.id, b.entry.id));
      const page = found.slice(query.offset, query.offset + query.count);
      const next = query.offset + query.count;
      const self = `${base}${request.url}`;
      const bundle = {
        resourceType: 'Bundle',
        type: 'searchset',
        total: found.length,
        link: [
          { relation: 'self', url: self },
          ...(query.isCount || next >= found.length ? [] : [{ relation: 'next', url: withOffset(self, next) }]),
        ],
        ...(!query.isCount &&
          page.length > 0 && {
            entry: page.map(({ entry, facts }) => ({
              fullUrl: `${base}/fhir/Library/${facts._id}`,
              resource: partOf(request, libraryOf(entry, facts)),
              search: { mode: 'match' },
            })),
          }),
      };
      return reply.type(FHIR_JSON).send(JSON.stringify(bundle));
    };

    const evaluate: Handler = async (request, reply) => {
      requireJsonFormat(request);
      const type = mediaTypeOf(request.headers['content-type']);
      if (!JSON_TYPES.has(type))
        throw unsupportedMediaType('The body must be Parameters in JSON: send Content-Type: application/fhir+json');
      if (!activator.loaded) await activator.whenLoaded();
      const { id } = await entryOf(request);
      if (!identity.allows(request.principal, 'execution', id))
        throw identity.refusal(request.principal, request.headers.authorization);
      const { set } = activator;
      const endpoints = activeOf(id).filter((each) => each.entry.method === 'post');
      if (endpoints.length === 0) throw notFound(`No endpoint of ${koKey(id)} is active that could be evaluated`);
      const resource = parse(textBody(request));
      const endpoint = chosen(endpoints, endpointIn(resource));
      const trace = gate.ids.traceOf(request.raw, request.id);
      void reply
        .header(EXECUTION_ID_HEADER, trace.executionId)
        .header(PACKAGE_DIGEST_HEADER, packageDigestOf(endpoint.ko.entry));
      const [form = {}] = await describe([endpoint]);
      const { input } = inputOf(resource, objectOr(form['schema']));
      const text = JSON.stringify(input);
      new Negotiation(endpoint).readsJson('application/json');
      const result = await calls.invoke(
        { endpoint, set },
        {
          ...{ body: text, text, contentType: 'application/json', json: true },
          ...callOfRequest(request.raw, trace, identity.caller(request.headers, request.principal)),
        },
        new ClientGone(reply.raw),
      );
      return reply.type(FHIR_JSON).send(JSON.stringify(parametersOf(JSON.parse(result))));
    };

    return {
      addRoutes(app: FastifyInstance) {
        const errors = { errors: FHIR_ERRORS };
        declare(app, '/fhir/metadata', { GET: { access: 'public', handler: metadata } }, errors);
        declare(app, '/fhir/Library', { GET: { access: 'read', handler: search } }, errors);
        declare(app, '/fhir/Library/:id', { GET: { access: 'read', handler: read } }, errors);
        declare(app, '/fhir/Library/:id/$evaluate', { POST: { access: 'execution', handler: evaluate } }, errors);
        app.addHook('onClose', () => forms[Symbol.asyncDispose]());
      },
    };
  };

const objectOr = (value: unknown): Fields | null => (isObject(value) ? value : null);

/** @throws bodyNotReadable. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw bodyNotReadable('The request body is not JSON', { cause });
  }
}

/** The endpoint that Parameters name. */
function endpointIn(resource: unknown): string | undefined {
  const list = fieldsOf(resource)['parameter'];
  const found = Array.isArray(list) ? list.map(fieldsOf).find(({ name }) => name === 'endpoint') : undefined;
  return typeof found?.['valueString'] === 'string' ? found['valueString'] : undefined;
}

/** @throws FhirFault. */
function chosen(endpoints: readonly Endpoint[], name: string | undefined): Endpoint {
  const [only] = endpoints;
  const found = name === undefined ? undefined : endpoints.find((each) => each.name === name.replace(/^\//, ''));
  if (found !== undefined) return found;
  if (only !== undefined && endpoints.length === 1) return only;
  const names = endpoints.map((each) => each.name).join(', ');
  throw new FhirFault(
    400,
    `The knowledge object has several endpoints: name one of ${names} as the parameter endpoint (valueString)`,
    "Parameters.parameter.where(name='endpoint')",
  );
}

/** @throws notAcceptable. */
function requireJsonFormat({ query, headers }: FastifyRequest): void {
  const { _format: format } = query as { readonly _format?: unknown };
  const isJsonAsked =
    format === undefined
      ? headers.accept === undefined ||
        new Negotiator({ headers: { accept: boundedAccept(headers.accept) } }).mediaType([
          'application/fhir+json',
          'application/json',
        ]) !== undefined
      : typeof format === 'string' && JSON_TYPES.has(mediaTypeOf(format.replaceAll(' ', '+')));
  if (!isJsonAsked) throw notAcceptable('Resources are given as application/fhir+json, and in no other format');
}

interface Query {
  readonly matches: (facts: LibraryFacts) => boolean;
  readonly offset: number;
  readonly count: number;
  readonly isCount: boolean;
}

/** @throws FhirFault. */
function queryOf({ query }: FastifyRequest): Query {
  const fields = query as Readonly<Record<string, string | readonly string[]>>;
  const tests: ((facts: LibraryFacts) => boolean)[] = [];
  for (const [key, value] of Object.entries(fields)) {
    const [name, modifier] = key.split(':', 2);
    const param = SEARCHED.find((each) => each === name);
    if (param === undefined) {
      if (!PAGING.has(key))
        throw new FhirFault(
          400,
          `${key.slice(0, 100)} is no search parameter here; there are ${SEARCHED.join(', ')}`,
          'Library',
        );
      continue;
    }
    for (const each of [value].flat()) {
      const wanted = each.split(',').map((text) => text.trim());
      tests.push((facts) => wanted.some((text) => fits(facts[param], text, param, modifier)));
    }
  }
  const summary = fields['_summary'];
  return {
    matches: (facts) => tests.every((test) => test(facts)),
    offset: wholeNumber(fields['_offset'], 0, Number.MAX_SAFE_INTEGER, '_offset'),
    count: wholeNumber(fields['_count'], DEFAULT_COUNT, MOST_COUNT, '_count'),
    isCount: summary === 'count' || fields['_count'] === '0',
  };
}

/** "String: case-insensitive, starts with; with `:exact` all of it, with `:contains` anywhere." Tokens and uris are whole. */
function fits(value: string, text: string, param: string, modifier: string | undefined): boolean {
  if (param !== 'name' && param !== 'title') return value === text.split('|').at(-1);
  if (modifier === 'exact') return value === text;
  const [own, wanted] = [value.toLowerCase(), text.toLowerCase()];
  return modifier === 'contains' ? own.includes(wanted) : own.startsWith(wanted);
}

function wholeNumber(value: unknown, otherwise: number, most: number, name: string): number {
  if (value === undefined) return otherwise;
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value))
    throw new FhirFault(400, `${name} must be a whole number`, 'Library');
  return Math.min(Number(value), most);
}

function withOffset(url: string, offset: number): string {
  const next = new URL(url);
  next.searchParams.set('_offset', String(offset));
  return next.href;
}

/** What `_summary` and `_elements` leave of a resource. */
function partOf({ query }: FastifyRequest, resource: Fields): Fields {
  const { _elements: elements, _summary: summary } = query as {
    readonly _elements?: unknown;
    readonly _summary?: unknown;
  };
  const named =
    typeof elements === 'string' ? [...MANDATORY, ...elements.split(',').map((each) => each.trim())] : undefined;
  const kept = summary === 'true' || summary === 'text' ? SUMMARY : named;
  if (kept === undefined) return resource;
  const meta = { tag: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }] };
  return { ...Object.fromEntries(Object.entries(resource).filter(([key]) => kept.includes(key))), meta };
}

function send(request: FastifyRequest, reply: FastifyReply, resource: Fields): FastifyReply {
  requireJsonFormat(request);
  return reply
    .type(FHIR_JSON)
    .header('cache-control', 'no-cache')
    .send(JSON.stringify(partOf(request, resource)));
}
