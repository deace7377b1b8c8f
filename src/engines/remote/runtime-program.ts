/** A runtime that comes with the service, as a program to start. */
import { join } from 'node:path';

/** What a runtime is to keep to. */
export interface RuntimeLimits {
  /** Seconds a call may take. */
  readonly callSeconds: number;
  /** Bytes of a result, and of a body. */
  readonly result: number;
  readonly body: number;
  /** Megabytes that the code of a knowledge object needs for its largest input and result. */
  readonly memory: number;
}

export interface RuntimeProgram {
  readonly command: string;
  readonly args: readonly string[];
  /**
   * Its settings, as variables. `cache`: where it keeps what it fetched and installed. `sourceBuilds`: `<naan>/<name>`
   * of KOs whose dependencies may be built from their sources.
   */
  variables(limits: RuntimeLimits, cache: string, sourceBuilds: readonly string[]): Readonly<Record<string, string>>;
  /** Why it cannot run here, and what to do; undefined where it can. */
  absence(environment: Readonly<Record<string, string>>): Promise<string | undefined>;
}

/** The folder of the runtimes. */
export const RUNTIMES = join(import.meta.dirname, '../../../runtimes');

const MEGABYTE = 2 ** 20;
/** An input or result is there as bytes, as a text, and as what was parsed. */
const TIMES_IN_MEMORY = 4;

/** `maxResult` and `maxBody` in bytes, as the service has them. */
export function runtimeLimits(callSeconds: number, maxResult: number, maxBody: number): RuntimeLimits {
  const result = Math.max(1024, maxResult);
  // Calls that share a request are larger together than a small limit.
  const body = Math.max(MEGABYTE, maxBody);
  return { callSeconds, result, body, memory: Math.ceil((TIMES_IN_MEMORY * (result + body)) / MEGABYTE) };
}
