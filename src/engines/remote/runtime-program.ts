/** A runtime that comes with the service, as a program to start. */
import { join } from 'node:path';

/** What a runtime is to keep to. */
export interface RuntimeLimits {
  /** Seconds a call may take. */
  readonly callSeconds: number;
  /** Bytes. */
  readonly maxResult: number;
  readonly maxBody: number;
}

export interface RuntimeProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** Its settings, as variables. `cache`: where it keeps what it fetched and installed. */
  variables(limits: RuntimeLimits, cache: string): Readonly<Record<string, string>>;
  /** Why it cannot run here, and what to do; undefined where it can. */
  absence(environment: Readonly<Record<string, string>>): Promise<string | undefined>;
}

/** The folder of the runtimes. */
export const RUNTIMES = join(import.meta.dirname, '../../../runtimes');
