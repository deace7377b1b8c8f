import type { Tracer } from './tracer.ts';

/** Undefined, with nothing loaded, where no collector is named. */
export async function openTracer(
  environment: Environment,
  version: string,
  onWarning: (message: string, cause?: unknown) => void,
): Promise<Tracer | undefined> {
  const settings = traceSettings(environment);
  for (const warning of settings?.warnings ?? []) onWarning(warning);
  if (settings === undefined || settings.url === '') return undefined;
  const { OtlpTracer } = await import('./otlp-tracer.ts');
  return new OtlpTracer({ settings, version, onWarning });
}

/**
 * The standard variables of https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables that say
 * whether and where traces go.
 */
type Environment = Readonly<Record<string, string | undefined>>;

export interface TraceSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly timeout: number;
  readonly compression: 'gzip' | 'none';
  /** Such as `parentbased_always_on`. */
  readonly sampler: string;
  readonly samplerArgument: string | undefined;
  readonly resource: Readonly<Record<string, string>>;
  readonly queue: { readonly most: number; readonly batch: number; readonly delay: number };
  /** What is asked and is not to be had. */
  readonly warnings: readonly string[];
}

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const TRACES_ENDPOINT = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
const SAMPLERS: readonly string[] = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];

/** Undefined where nothing is to be traced. */
export function traceSettings(environment: Environment): TraceSettings | undefined {
  const of = (name: string): string | undefined => {
    const value = environment[name]?.trim();
    return value === '' ? undefined : value;
  };
  const ofTraces = (name: string): string | undefined =>
    of(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? of(`OTEL_EXPORTER_OTLP_${name}`);
  const [own, all] = [of(TRACES_ENDPOINT), of(ENDPOINT)];
  if (own === undefined && all === undefined) return undefined;
  if (of('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || of('OTEL_TRACES_EXPORTER') === 'none') return undefined;
  const warnings: string[] = [];
  const url = own ?? `${(all ?? '').replace(/\/$/, '')}/v1/traces`;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    return { ...NOWHERE, warnings: [`${own === undefined ? ENDPOINT : TRACES_ENDPOINT} is no http or https address`] };
  }
  const protocol = ofTraces('PROTOCOL') ?? 'http/protobuf';
  if (protocol !== 'http/protobuf')
    warnings.push(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}: traces are sent as http/protobuf`);
  const asked = of('OTEL_TRACES_SAMPLER') ?? STANDARD_SAMPLER;
  const isKnown = SAMPLERS.includes(asked);
  if (!isKnown) warnings.push(`OTEL_TRACES_SAMPLER is ${asked}, which is not known: ${STANDARD_SAMPLER} is used`);
  const number = (name: string, standard: number): number => {
    const value = of(name);
    if (value === undefined || /^[1-9]\d{0,8}$/.test(value)) return Number(value ?? standard);
    warnings.push(`${name} is ${value}, but must be a number from 1: ${String(standard)} is used`);
    return standard;
  };
  const most = number('OTEL_BSP_MAX_QUEUE_SIZE', 2048);
  return {
    url,
    headers: pairsIn(ofTraces('HEADERS')),
    timeout: number(
      of('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') === undefined
        ? 'OTEL_EXPORTER_OTLP_TIMEOUT'
        : 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
      10_000,
    ),
    compression: ofTraces('COMPRESSION') === 'gzip' ? 'gzip' : 'none',
    sampler: isKnown ? asked : STANDARD_SAMPLER,
    samplerArgument: of('OTEL_TRACES_SAMPLER_ARG'),
    resource: {
      'service.name': 'kgrid-activator',
      ...pairsIn(of('OTEL_RESOURCE_ATTRIBUTES')),
      ...(of('OTEL_SERVICE_NAME') === undefined ? {} : { 'service.name': of('OTEL_SERVICE_NAME') ?? '' }),
    },
    queue: {
      most,
      batch: Math.min(most, number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512)),
      delay: number('OTEL_BSP_SCHEDULE_DELAY', 5000),
    },
    warnings,
  };
}

const STANDARD_SAMPLER = 'parentbased_always_on';

const NOWHERE: TraceSettings = {
  url: '',
  headers: {},
  timeout: 1,
  compression: 'none',
  sampler: 'always_off',
  samplerArgument: undefined,
  resource: {},
  queue: { most: 1, batch: 1, delay: 1 },
  warnings: [],
};

/** `name=value,…`, whose values are percent-encoded. */
function pairsIn(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
