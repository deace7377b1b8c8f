/** Calls of an endpoint whose code is read at the first of them: an earlier start saw it load. */
import { toError } from '../../lib/errors.ts';
import type { Call, Executor, RecordsCall } from '../engine.ts';
import type { RecordsAnswer } from '../records.ts';
import type { JavascriptExecutor } from './executor.ts';

export class LaterExecutor implements Executor {
  /** Undefined before the first call. */
  loaded: JavascriptExecutor | undefined;
  readonly #load: () => Promise<JavascriptExecutor>;
  #loading: Promise<JavascriptExecutor> | undefined;
  #isDisposed = false;

  constructor(load: () => Promise<JavascriptExecutor>) {
    this.#load = load;
  }

  execute(call: Call): Promise<string> {
    return this.loaded?.execute(call) ?? this.#read().then((executor) => executor.execute(call));
  }

  async executeRecords(call: RecordsCall): Promise<RecordsAnswer> {
    try {
      return await (await this.#read()).executeRecords(call);
    } catch (thrown) {
      return Array.from({ length: call.records.count }, () => toError(thrown));
    }
  }

  dispose(): void {
    this.#isDisposed = true;
    this.loaded?.dispose();
  }

  /** Again, where it could not be read. */
  #read(): Promise<JavascriptExecutor> {
    this.#loading ??= this.#load().then(
      (executor) => {
        this.loaded = executor;
        if (this.#isDisposed) executor.dispose();
        return executor;
      },
      (thrown: unknown) => {
        this.#loading = undefined;
        throw thrown;
      },
    );
    return this.#loading;
  }
}
