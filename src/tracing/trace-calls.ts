/** Spans of calls: the whole, its wait, its run, and its way to a runtime. */
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallTracer, TracedCall } from '../execution/calls.ts';
import type { CallSpan, CallTrace } from '../engines/engine.ts';
import { koKey } from '../knowledge-object/id.ts';
import { outcomeOf } from '../lib/errors.ts';
import type { Span, Tracer } from './tracer.ts';

export const traceCalls = (tracer: Tracer): CallTracer => ({
  call: (endpoint, trace, records) => new Traced(tracer, endpoint, trace, records),
});

class Traced implements TracedCall, CallSpan {
  readonly trace: CallTrace;
  readonly #tracer: Tracer;
  readonly #whole: Span;
  readonly #start = performance.now();
  #run: Span | undefined;

  constructor(tracer: Tracer, endpoint: Endpoint, trace: CallTrace, records: number | undefined) {
    const { ko, id, entry } = endpoint;
    const facts = {
      'kgrid.ko': koKey(ko.id),
      'kgrid.endpoint': id,
      'kgrid.engine': entry.engine,
      'kgrid.package.digest': `sha256:${ko.entry.digest}`,
      'kgrid.execution.id': trace.executionId,
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
