/** Spans that go to a collector by OTLP over HTTP. Loaded only where that is asked for. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as SdkTracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceSettings } from './open-tracer.ts';
import type { Span, SpanFacts, SpanParent, SpanStart, Tracer } from './tracer.ts';

export interface OtlpTracerOptions {
  readonly settings: TraceSettings;
  readonly version: string;
  readonly onWarning: (message: string, cause?: unknown) => void;
}

/** Milliseconds that a service which ends waits for its last spans to be taken. */
const LONGEST_FAREWELL_MS = 2000;
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const MOST_DIFFERENCE_MS = 100;
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };
/** `ExportResultCode.SUCCESS`. */
const TAKEN: Result['code'] = 0;
type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0];

export class OtlpTracer implements Tracer {
  readonly #provider: TracerProvider;
  readonly #tracer: SdkTracer;
  readonly #clock = new Clock();
  readonly #current = new AsyncLocalStorage<Span>();

  constructor({ settings, version, onWarning }: OtlpTracerOptions) {
    const { url, headers, timeout, compression, queue, resource } = settings;
    const options = { url, headers: { ...headers }, timeoutMillis: timeout, compression };
    const exporter = warningOnce(
      new OTLPTraceExporter(options as ConstructorParameters<typeof OTLPTraceExporter>[0]),
      url,
      onWarning,
    );
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.version': version, ...resource }),
      sampler: samplerOf(settings),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter,
          maxQueueSize: queue.most,
          maxExportBatchSize: queue.batch,
          scheduledDelayMillis: queue.delay,
          exportTimeoutMillis: timeout,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('kgrid-activator', version);
  }

  start(name: string, { kind = 'internal', parent, facts = {}, start }: SpanStart = {}): Span {
    const above = parent ?? this.#current.getStore();
    const startTime = this.#clock.timeOf(start ?? performance.now());
    const options = { kind: KINDS[kind], attributes: attributesOf(facts), startTime };
    return new StartedSpan(this.#tracer.startSpan(name, options, contextOf(above)), this.#clock);
  }

  within<T>(span: Span, work: () => T): T {
    return this.#current.run(span, work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const late = new Promise<void>((resolve) => setTimeout(resolve, LONGEST_FAREWELL_MS).unref());
    await Promise.race([this.#provider.shutdown().catch(() => undefined), late]);
  }
}

/** Times of all spans of this process come from one clock, so that each lies within its parent. */
class Clock {
  #offset = Date.now() - performance.now();

  /** Epoch milliseconds of what `performance.now()` gave. The clock of the machine may have been set since the start. */
  timeOf(now: number): number {
    const difference = Date.now() - performance.now() - this.#offset;
    if (Math.abs(difference) > MOST_DIFFERENCE_MS) this.#offset += difference;
    return this.#offset + now;
  }
}

class StartedSpan implements Span {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
  readonly #span: SdkSpan;
  readonly #clock: Clock;

  constructor(span: SdkSpan, clock: Clock) {
    this.#clock = clock;
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    this.#span = span;
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
    this.tracestate = traceState?.serialize();
  }

  name(name: string): void {
    this.#span.updateName(name);
  }

  set(facts: SpanFacts): void {
    this.#span.setAttributes(attributesOf(facts));
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end(this.#clock.timeOf(performance.now()));
  }
}

const attributesOf = (facts: SpanFacts): Attributes => ({ ...facts });

function contextOf(parent: SpanParent | undefined): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(parent?.traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const { tracestate } = parent ?? {};
  const context: SpanContext = {
    traceId,
    spanId,
    isRemote: true,
    traceFlags: Number.parseInt(flags, 16) & 1,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(context) ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT;
}

function samplerOf({ sampler, samplerArgument }: TraceSettings): Sampler {
  const ratio = Number(samplerArgument ?? 1);
  const root = sampler.endsWith('always_off')
    ? new AlwaysOffSampler()
    : sampler.endsWith('traceidratio')
      ? new TraceIdRatioBasedSampler(ratio >= 0 && ratio <= 1 ? ratio : 1)
      : new AlwaysOnSampler();
  return sampler.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root;
}

/** A collector that is away is said once, until it took spans again. */
function warningOnce(
  exporter: SpanExporter,
  url: string,
  onWarning: (message: string, cause?: unknown) => void,
): SpanExporter {
  let isWarned = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }: Result) => {
        if (code !== TAKEN && !isWarned)
          onWarning(`Traces are not taken at ${new URL(url).origin}: they are dropped until they are`, error);
        isWarned = code !== TAKEN;
        // The queue would tell nobody of it.
        done({ code: TAKEN });
      }),
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush === undefined ? {} : { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  };
}
