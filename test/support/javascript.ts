/** The real javascript engine with its sandbox processes, for code of a test; its limit is none that a busy machine meets. */
import pino from 'pino';
import type { EndpointPlan, Executor } from '../../src/engines/engine.ts';
import { JavascriptEngine } from '../../src/engines/javascript/engine.ts';
import type { JavascriptOptions } from '../../src/engines/javascript/engine.ts';
import { findKernel } from '../../src/confinement/find-kernel.ts';
import { callsAmong } from './calls-among.ts';

const kernel = await findKernel('auto');

export interface PlanParts {
  readonly id?: string;
  readonly entry?: string;
  readonly function?: string | undefined;
  readonly options?: Partial<EndpointPlan['options']>;
  readonly files?: Readonly<Record<string, string>>;
  /** In the package beside the artifacts. */
  readonly unlisted?: Readonly<Record<string, string>>;
}

/** Endpoints that the code of others may call, by id. */
export type Active = Map<string, Executor>;

/** Of each call that says nothing else. */
export const EXECUTION_TIMEOUT_MS = 60_000;

export class TestJavascript implements AsyncDisposable {
  readonly engine: JavascriptEngine;
  readonly active: Active = new Map();
  readonly call = callsAmong(this.active);
  readonly log: Record<string, unknown>[] = [];

  constructor(options: Partial<JavascriptOptions> = {}) {
    this.engine = new JavascriptEngine({
      executionTimeout: EXECUTION_TIMEOUT_MS,
      isolateMemoryMb: 32,
      maxResult: 1024 * 1024,
      queueLimit: 1000,
      sandboxes: 1,
      isolation: 'shared',
      kernel,
      properties: {},
      log: pino(
        { base: null },
        { write: (line: string) => this.log.push(JSON.parse(line) as Record<string, unknown>) },
      ),
      ...options,
    });
  }

  /** Activates code that defines `run`; it can be called by other code under its id. @throws ActivationFailure. */
  async activate(
    code: string,
    { id = 'a/b/1.0/run', entry = 'src/index.js', files, unlisted, options, ...parts }: PlanParts = {},
  ): Promise<Executor> {
    const contents: Readonly<Record<string, string>> = { [entry]: code, ...files };
    const all = { ...contents, ...unlisted };
    const executor = await this.engine.activate({
      id,
      ko: { naan: 'a', name: 'b', version: 'v1.0' },
      engine: 'javascript',
      endpoint: 'run',
      apiVersion: '1.0',
      artifacts: Object.keys(contents),
      entry,
      function: 'function' in parts ? parts.function : 'run',
      options: { isolation: 'ko', timeout: undefined, ...options },
      descriptor: {},
      checksum: '',
      files: new Map(Object.entries(all).map(([path, text]) => [path, { size: Buffer.byteLength(text) }])),
      read: (path) => Promise.resolve(Buffer.from(all[path] ?? '')),
    });
    this.active.set(id, executor);
    return executor;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine[Symbol.asyncDispose]();
  }
}
