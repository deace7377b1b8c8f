import type { Endpoint } from '../activation/endpoint.ts';
import type { CallSpan, CallTrace } from '../engines/engine.ts';
import type { CallTracer, TracedCall } from '../execution/calls.ts';
import { type KoId, koKey } from '../knowledge-object/id.ts';
import { outcomeOf } from '../lib/errors.ts';
import { withoutCredentials } from '../lib/without-credentials.ts';
import type { AroundEntry } from '../shelf/manifest/manifest-run.ts';
import type { Shelf } from '../shelf/shelf.ts';

/** What the rest of the service sees of traces: nothing here knows how spans leave the process. */

/** Whose child a span is, by the headers of https://www.w3.org/TR/trace-context. */
export interface SpanParent {
  readonly traceparent: string | undefined;
  readonly tracestate?: string | undefined;
}

export type SpanKind = 'server' | 'client' | 'internal';
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span extends SpanParent {
  readonly traceparent: string;
  name(name: string): void;
  set(facts: SpanFacts): void;
  /** `error`: by which code it failed; never a message, which may hold what a call was about. */
  end(error?: string): void;
}

export interface SpanStart {
  readonly kind?: SpanKind;
  readonly parent?: SpanParent | undefined;
  readonly facts?: SpanFacts;
  /** By `performance.now()`, where it began earlier. */
  readonly start?: number;
}

export interface Tracer extends AsyncDisposable {
  start(name: string, how?: SpanStart): Span;
  /** What `work` begins without a parent is a child of that span. */
  within<T>(span: Span, work: () => T): T;
}

/** Spans of calls: the whole, its wait, its run, and its way to a runtime. */
export const traceCalls = (tracer: Tracer): CallTracer => ({
  call: (endpoint, trace, who, records) => new Traced(tracer, endpoint, trace, who, records),
});

class Traced implements TracedCall, CallSpan {
  readonly trace: CallTrace;
  readonly #tracer: Tracer;
  readonly #whole: Span;
  readonly #start = performance.now();
  #run: Span | undefined;

  constructor(
    tracer: Tracer,
    endpoint: Endpoint,
    trace: CallTrace,
    who: string | undefined,
    records: number | undefined,
  ) {
    const { ko, id, entry } = endpoint;
    const facts = {
      'kgrid.ko': koKey(ko.id),
      'kgrid.endpoint': id,
      'kgrid.engine': entry.engine,
      'kgrid.package.digest': `sha256:${ko.entry.digest}`,
      'kgrid.execution.id': trace.executionId,
      ...(who === undefined ? {} : { 'enduser.id': who }),
      ...(records === undefined ? {} : { 'kgrid.records': records }),
    };
    this.#tracer = tracer;
    this.#whole = tracer.start(`execute ${id}`, { parent: trace, facts, start: this.#start });
    const { traceparent, tracestate } = this.#whole;
    this.trace = { ...trace, traceparent, tracestate, span: this };
  }

  begins(): void {
    if (this.#run !== undefined) return;
    this.#tracer.start('queue', { parent: this.#whole, start: this.#start }).end();
    this.#run = this.#tracer.start('run', { parent: this.#whole });
  }

  goesTo(url: string): { readonly trace: CallTrace; end(thrown?: unknown): void } {
    const { hostname, port, origin } = new URL(url);
    const facts = {
      'http.request.method': 'POST',
      'server.address': hostname,
      'server.port': port === '' ? undefined : Number(port),
      'url.full': origin,
    };
    const span = this.#tracer.start('POST', { kind: 'client', parent: this.#run ?? this.#whole, facts });
    const { traceparent, tracestate } = span;
    return {
      trace: { ...this.trace, traceparent, tracestate },
      end: (thrown) => span.end(thrown === undefined ? undefined : outcomeOf(thrown)),
    };
  }

  end(outcome: string): void {
    const error = outcome === 'done' ? undefined : outcome;
    this.#run?.end(error);
    this.#whole.end(error);
  }
}

// Spans of what changes the shelf, and of the entries of manifests.

/** Runs work as a span of that name. */
async function inSpan<T>(
  tracer: Tracer,
  name: string,
  facts: Readonly<Record<string, string>>,
  work: () => Promise<T>,
): Promise<T> {
  const span = tracer.start(name, { facts });
  let error: string | undefined;
  try {
    return await tracer.within(span, work);
  } catch (thrown) {
    error = outcomeOf(thrown);
    throw thrown;
  } finally {
    span.end(error);
  }
}

/** From now on the changes of this shelf are traced. */
export function traceShelf(tracer: Tracer, shelf: Shelf): void {
  const traced = <T>(what: string, id: KoId, work: () => Promise<T>): Promise<T> =>
    inSpan(tracer, `shelf ${what}`, { 'kgrid.ko': koKey(id), 'kgrid.shelf.type': shelf.type }, work);
  const stage = shelf.stage.bind(shelf);
  shelf.stage = async (author) => {
    const staging = await stage(author);
    const commit = staging.commit.bind(staging);
    staging.commit = (id) => traced('import', id, () => commit(id));
    return staging;
  };
  const replaceMetadata = shelf.replaceMetadata.bind(shelf);
  shelf.replaceMetadata = (id, ...rest) => traced('replace-metadata', id, () => replaceMetadata(id, ...rest));
  const remove = shelf.remove.bind(shelf);
  shelf.remove = (id, ...rest) => traced('delete', id, () => remove(id, ...rest));
  const restore = shelf.restore.bind(shelf);
  shelf.restore = (id, ...rest) => traced('restore', id, () => restore(id, ...rest));
}

export const traceEntries =
  (tracer: Tracer): AroundEntry =>
  async (location, work) => {
    const span = tracer.start('manifest entry', {
      facts: { 'kgrid.manifest.location': withoutCredentials(location).slice(0, MAX_LOCATION) },
    });
    const outcome = await tracer.within(span, work);
    if (outcome.id !== undefined) span.set({ 'kgrid.ko': koKey(outcome.id) });
    span.end(outcome.error === undefined ? undefined : outcomeOf(outcome.error));
    return outcome;
  };

const MAX_LOCATION = 300;
