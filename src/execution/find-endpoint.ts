/** Finds what a call is for, waits until it is decided, and says why there is nothing. */
import type { Activator } from '../activation/activator.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import type { EndpointMethod, EndpointSet } from '../activation/endpoint-set.ts';
import { NEVER_NAANS, RESERVED_NAANS, koKey } from '../knowledge-object/id.ts';
import { notFound, overloaded } from '../lib/errors.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { entryOfAtId } from '../shelf/entry-of-at-id.ts';
import { behindFirst, readingsOf } from '../knowledge-object/at-id-path.ts';
import type { Reading } from '../knowledge-object/at-id-path.ts';
import { endpointAt, endpointOfAtId, keyOf, nothingActive } from './resolve-endpoint.ts';

export interface EndpointFinderOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  /** While it is true, what is not known may yet come. */
  readonly arriving: () => boolean;
  /** Hears of calls of an endpoint that is known and not active. */
  readonly onNotActive: (endpoint: Endpoint, refusal: Error) => void;
}

/** What a call asks for. */
export interface Wanted {
  /** As the client wrote it, for messages. */
  readonly path: string;
  /** `<naan>/<name>/…`, decoded. */
  readonly key: string;
  readonly version: string | undefined;
  /** Its status may be any, and its method another one where none has this. */
  readonly in: (set: EndpointSet, method: EndpointMethod) => Endpoint | undefined;
  /** What it means where an `@id` may stand in it. */
  readonly readings?: readonly Reading[];
}

/** "`/{naan}/{name}/{apiVersion}/{endpoint}`", and the forms with `?v=` and without a version. @throws notFound. */
export function wantedByPath(path: string, version: string | undefined): Wanted {
  const key = keyOf(path);
  if (RESERVED_NAANS.has(key.slice(0, key.indexOf('/')))) throw nothingAt(path);
  return { path, key, version, in: (set, method) => endpointAt(set, key, version, method) };
}

const nothingAt = (path: string): Error => notFound(`There is nothing at ${path}`);

/** "POST `/endpoints/<@id>/<endpoint>` […]: an exact `@id` wins, then the rules of execution." */
export function wantedByAtId(path: string, version: string | undefined, { mostSegments }: EndpointSet): Wanted {
  const written = behindFirst(path);
  const readings = readingsOf(written, Math.max(mostSegments, LEAST_SEGMENTS) - SEGMENTS_OF_VERSION);
  const key = keyOf(written);
  return {
    path,
    key,
    version,
    readings,
    in: (set, method) => endpointOfAtId(set, readings, version, method) ?? endpointAt(set, key, version, method),
  };
}

/** Of the id of an endpoint: those of the KO and its API version, and with that of the endpoint. */
const SEGMENTS_OF_VERSION = 3;
const LEAST_SEGMENTS = 4;

export class EndpointFinder {
  readonly #options: EndpointFinderOptions;

  constructor(options: EndpointFinderOptions) {
    this.#options = options;
  }

  /** One that can be called. @throws endpointNotFound; overloaded. */
  async require(wanted: Wanted): Promise<Endpoint> {
    const endpoint = await this.find(wanted, 'post');
    if (endpoint !== undefined && endpoint.status !== 'FAILED_TO_ACTIVATE') return endpoint;
    const refusal = await this.missing(wanted, 'post');
    if (endpoint !== undefined) this.#options.onNotActive(endpoint, refusal);
    throw refusal;
  }

  /** Once it is decided. What could not be read before is tried again by a call. */
  async find(wanted: Wanted, method: EndpointMethod): Promise<Endpoint | undefined> {
    const { activator } = this.#options;
    if (!activator.loaded) await activator.whenLoaded();
    const endpoint = await this.#decided(wanted, method);
    if (endpoint !== undefined && endpoint.status !== 'FAILED_TO_ACTIVATE') return endpoint;
    const [naan = '', name = ''] = endpoint?.address.split('/', 2) ?? wanted.key.split('/', 2);
    if (activator.unreadable(naan, name) === undefined) return endpoint;
    await activator.tryAgain();
    return this.#decided(wanted, method);
  }

  /** Why nothing can be called there. */
  async missing(wanted: Wanted, method: EndpointMethod): Promise<Error> {
    const { activator, arriving, shelf } = this.#options;
    const { set } = activator;
    const { version } = wanted;
    const asked = wanted.in(set, method);
    const key = (asked === undefined ? await this.#keyByAtId(wanted) : undefined) ?? wanted.key;
    const [naan = '', name = ''] = key.split('/');
    if (NEVER_NAANS.has(naan)) return nothingAt(wanted.path);
    if (arriving() && asked === undefined)
      throw overloaded(`${key} is not known yet: the manifests of the start are being imported; try again later`, 2);
    const unreadable = activator.unreadable(naan, name);
    if (unreadable !== undefined)
      throw overloaded(`${naan}/${name} cannot be read at the moment and is tried again: ${unreadable}`, 2);
    return nothingActive(set, { key, version, asked }, await shelf.versions(naan, name));
  }

  /** Where the KO stands whose `@id` was asked for. */
  async #keyByAtId({ readings = [] }: Wanted): Promise<string | undefined> {
    for (const { atId, rest } of readings) {
      const entry = await entryOfAtId(this.#options.shelf, atId);
      if (entry !== undefined) return `${koKey(entry.id)}/${rest}`;
    }
    return undefined;
  }

  /** "A request meets either the old or the new set, none is dropped": what was replaced while a call waited is not its end. */
  async #decided(wanted: Wanted, method: EndpointMethod): Promise<Endpoint | undefined> {
    for (;;) {
      const { set } = this.#options.activator;
      const endpoint = await decidedIn(set, wanted, method);
      if (endpoint?.ready() !== undefined || set === this.#options.activator.set) return endpoint;
    }
  }
}

/** "A call to it is moved to the front and waits for its activation." */
async function decidedIn(set: EndpointSet, wanted: Wanted, method: EndpointMethod): Promise<Endpoint | undefined> {
  let endpoint = wanted.in(set, method);
  while (endpoint?.status === 'LOADED') {
    try {
      await endpoint.executor();
    } catch (thrown) {
      if (endpoint.status === 'LOADED') throw thrown;
    }
    // Where the newest version fails, the default is the next one.
    endpoint = wanted.in(set, method);
  }
  return endpoint;
}
