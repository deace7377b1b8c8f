/** Stands for the service around an engine: makes plans, calls, and has a caller in another engine. */
import type { EndpointPlan, Engine, Executor } from '../../src/engines/engine.ts';
import { callsAmong } from '../support/calls-among.ts';
import { TestJavascript } from '../support/javascript.ts';
import type { EngineUnderTest } from './engine.ts';

export interface Artifacts {
  /** The first is the entry. */
  readonly files: Readonly<Record<string, string | Buffer>>;
  readonly function?: string;
  /** Milliseconds, where the endpoint has a limit of its own. */
  readonly timeout?: number;
}

export class EngineHost implements AsyncDisposable {
  readonly engine: Engine;
  readonly maxResultBytes: number;
  readonly #under: EngineUnderTest;
  readonly #active = new Map<string, Executor>();
  readonly call = callsAmong(this.#active);
  readonly #caller = new TestJavascript();
  #kos = 0;

  constructor(under: EngineUnderTest) {
    this.#under = under;
    this.engine = under.engine;
    this.maxResultBytes = under.maxResultBytes;
  }

  /** Each as a knowledge object of its own. @throws ActivationFailure. */
  activate(artifacts: Artifacts): Promise<Executor> {
    return this.#activate(`a/ko${++this.#kos}/1.0/run`, artifacts);
  }

  /** Under an id by which others call it. */
  async activateAs(id: string, artifacts: Artifacts): Promise<string> {
    this.#active.set(id, await this.#activate(id, artifacts));
    return id;
  }

  /** Calls it from code of the engine `javascript`. */
  async callFromJavascript(id: string, input: unknown): Promise<unknown> {
    const code = `function run(input) { return context.getExecutor(${JSON.stringify(id)}).execute(input); }`;
    return this.call(await this.#caller.activate(code, { id: 'a/caller/1.0/run' }), input);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#caller[Symbol.asyncDispose]();
    await this.#under[Symbol.asyncDispose]();
  }

  #activate(id: string, { files, function: name, timeout }: Artifacts): Promise<Executor> {
    const [naan = '', ko = '', apiVersion = '', endpoint = ''] = id.split('/');
    const [entry = ''] = Object.keys(files);
    this.#under.serve?.(`${naan}/${ko}/v1.0`, files);
    const plan: EndpointPlan = {
      id,
      ko: { naan, name: ko, version: 'v1.0' },
      engine: this.engine.name,
      endpoint,
      apiVersion,
      artifacts: Object.keys(files),
      entry,
      function: name,
      options: { isolation: 'ko', timeout },
      descriptor: {},
      checksum: JSON.stringify(files),
      files: new Map(Object.entries(files).map(([path, text]) => [path, { size: text.length }])),
      read: (path) => Promise.resolve(Buffer.from(files[path] ?? '')),
    };
    return this.engine.activate(plan, { progress: () => undefined, signal: new AbortController().signal });
  }
}
