import { traceSettings, type Environment } from './trace-settings.ts';
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
