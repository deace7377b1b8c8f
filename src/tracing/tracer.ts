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
