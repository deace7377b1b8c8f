/** The `javascript` engine: code nobody vetted, in V8 isolates inside processes that may be ended at any time. */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { digestOf } from '../../lib/digest.ts';
import { messageOf } from '../../lib/errors.ts';
import type { ConsoleLines } from '../console-lines.ts';
import { ActivationFailure } from '../engine.ts';
import type { EndpointPlan, Engine, EngineFigures, EngineHealth, Executor, KnownLoads } from '../engine.ts';
import { Endpoint } from '../sandbox/endpoint.ts';
import type { Level } from '../sandbox/from-process.ts';
import { REMOVALS } from '../sandbox/process-removal.ts';
import { neverStarted } from '../supervisor/never-started.ts';
import { SandboxProcess } from '../supervisor/process.ts';
import { policyForRecords } from '../sandbox/policy.ts';
import { Scheduler } from '../sandbox/scheduler.ts';
import type { SchedulerOptions } from '../sandbox/scheduler.ts';
import { whyNothingStarts } from '../../confinement/launch.ts';
import type { Kernel } from '../../confinement/walls.ts';
import { uptime } from '../../lib/uptime.ts';
import { placeIn } from './stack-place.ts';
import { ConsoleBudget } from './console-budget.ts';
import { readCode } from './code-files.ts';
import { JavascriptExecutor } from './executor.ts';
import { LaterExecutor } from './later-executor.ts';
import type { LoadRequest } from './load-request.ts';
import { sandboxCommand, sandboxProgram } from './program.ts';
import { answerQuestion } from './questions.ts';
import { explainUnavailable } from './unavailable.ts';
import { TypeStripper } from './typescript/type-stripper.ts';

export interface JavascriptOptions {
  /** Milliseconds a call may take. */
  readonly executionTimeout: number;
  readonly isolateMemoryMb: number;
  /** Characters of an answer. */
  readonly maxResult: number;
  /** Calls that may wait for one endpoint. */
  readonly queueLimit: number;
  readonly sandboxes: number;
  readonly kernel: Kernel;
  /** At a start, code that an earlier one saw to load is loaded by its first call. */
  readonly known?: KnownLoads;
  /** What `context.getProperty` knows. */
  readonly properties: Readonly<Record<string, string>>;
  readonly log: Logger;
  /** Keeps the latest lines that code prints. */
  readonly consoles?: ConsoleLines | undefined;
}

export class JavascriptEngine implements Engine {
  readonly name = 'javascript';
  readonly method = 'post';
  readonly builtIn = true;
  readonly release = `V8 ${process.versions.v8}`;
  readonly #options: JavascriptOptions;
  readonly #scheduler: Scheduler;
  /** Of its own, so that no single call waits for a batch of them; it has no process while there are none. */
  readonly #records: Scheduler;
  readonly #stripper = new TypeStripper();
  /** Of what code is loaded with. */
  readonly #settings: string;
  #slots = 0;

  constructor(options: JavascriptOptions) {
    this.#options = options;
    const { executionTimeout, isolateMemoryMb, maxResult, properties } = options;
    this.#settings = digestOf(JSON.stringify([executionTimeout, isolateMemoryMb, maxResult, properties])).slice(0, 16);
    let program: string | undefined;
    const parts: SchedulerOptions = {
      sandboxes: options.sandboxes,
      memoryMb: options.isolateMemoryMb,
      queueLimit: options.queueLimit,
      start: (events) => {
        try {
          return new SandboxProcess(
            sandboxCommand((program ??= sandboxProgram()), options.kernel),
            events,
            options.kernel,
          );
        } catch (thrown) {
          return neverStarted(events, messageOf(thrown));
        }
      },
      answer: answerQuestion,
      warn: (facts, message) => options.log.warn(facts, message),
    };
    this.#scheduler = new Scheduler(parts);
    this.#records = new Scheduler({ ...parts, policy: policyForRecords(availableParallelism()) });
  }

  async activate(plan: EndpointPlan): Promise<Executor> {
    const load = await this.#loadRequestOf(plan);
    const endpoint = this.#endpointOf(plan, load);
    const { known } = this.#options;
    this.#scheduler.prepare();
    const key = this.#keyOf(plan);
    const problem = known?.loads(key) === true ? '' : await this.#scheduler.load(endpoint);
    known?.rememberLoad(key, problem === '');
    if (problem === '') return new JavascriptExecutor(endpoint, this.#scheduler, this.#records);
    this.#scheduler.forget(endpoint);
    throw new ActivationFailure(this.#toErrorMessage(problem, plan, Object.keys(load.files)));
  }

  activateKnown(
    about: Pick<EndpointPlan, 'id' | 'checksum'>,
    planOf: () => Promise<EndpointPlan>,
  ): Executor | undefined {
    if (this.#options.known?.loads(this.#keyOf(about)) !== true) return undefined;
    this.#scheduler.prepare();
    return new LaterExecutor(async () => {
      const plan = await planOf();
      const endpoint = this.#endpointOf(plan, await this.#loadRequestOf(plan));
      return new JavascriptExecutor(endpoint, this.#scheduler, this.#records);
    });
  }

  /** The same for the same code, run in the same way. */
  #keyOf({ id, checksum }: Pick<EndpointPlan, 'id' | 'checksum'>): string {
    return `${this.name} ${this.#settings} ${id} ${checksum}`;
  }

  health(): EngineHealth {
    const problem = this.#scheduler.problem ?? whyNothingStarts(this.#options.kernel);
    return {
      status: problem === undefined ? 'UP' : 'DOWN',
      details: { engines: [this.name], ...(problem !== undefined && { problem }) },
    };
  }

  figures(): EngineFigures {
    const both = [this.#scheduler.figures(), this.#records.figures()];
    const sum = (key: 'waiting' | 'isolates'): number => both.reduce((total, each) => total + each[key], 0);
    return {
      waiting: sum('waiting'),
      longestQueue: Math.max(...both.map(({ longestQueue }) => longestQueue)),
      kinds: ['sandbox'],
      processes: both.flatMap(({ processes }) => processes),
      isolates: sum('isolates'),
      restarts: REMOVALS.map((reason) => [
        'sandbox',
        reason,
        both.reduce((total, { removals }) => total + removals.of(reason), 0),
      ]),
    };
  }

  info(): Record<string, unknown> {
    const schedulers = [this.#scheduler, this.#records];
    return {
      sandboxes: schedulers.reduce((sum, { processes }) => sum + processes, 0),
      quarantined: schedulers.reduce((sum, { quarantined }) => sum + quarantined, 0),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#scheduler[Symbol.dispose]();
    this.#records[Symbol.dispose]();
    await this.#stripper[Symbol.asyncDispose]();
  }

  async #loadRequestOf(plan: EndpointPlan): Promise<LoadRequest> {
    const code = await readCode(plan, this.#stripper);
    return {
      heapMb: this.#options.isolateMemoryMb,
      maxResult: this.#options.maxResult,
      limit: this.#loadLimitOf(plan),
      entry: plan.entry,
      function: plan.function ?? '',
      freshContext: plan.options.isolation === 'call',
      ...code,
      properties: { ...this.#options.properties },
    };
  }

  #endpointOf(plan: EndpointPlan, load: LoadRequest): Endpoint {
    const { heapMb, maxResult, freshContext } = load;
    const files = Object.keys(load.files);
    const { timeout } = plan.options;
    return new Endpoint(
      {
        id: plan.id,
        slot: ++this.#slots,
        loadText: JSON.stringify(load),
        limit: timeout ?? this.#options.executionTimeout,
        limitedBy: timeout !== undefined ? 'timeout in its deployment descriptor' : '--execution-timeout',
        maxResult,
        memoryMb: heapMb,
        memoryLimitedBy: '--isolate-memory',
        oneByOne: freshContext,
        log: this.#logOf(plan),
        explain: explainUnavailable,
        placeIn: (stack) => placeIn(stack, (file) => files.includes(file)),
      },
      this.#scheduler.policy,
    );
  }

  /** Writes what the code of an endpoint logs, as much as the log can take. */
  #logOf({ id, ko }: EndpointPlan): (level: Level, text: string) => void {
    const budget = new ConsoleBudget();
    const about = { ko: `${ko.naan}/${ko.name}/${ko.version}`, endpoint: id, console: true };
    const { consoles } = this.#options;
    return (level, text) => {
      consoles?.add(about.ko, level, text, id);
      const may = budget.take(text.length, uptime());
      if (may === 'no') return;
      const line = may === 'yes' ? text : 'more lines than the log can take; some that follow are left out';
      this.#options.log[level](about, line);
    };
  }

  /** Milliseconds that the top level of the code may take: long work belongs into the function. */
  #loadLimitOf(plan: EndpointPlan): number {
    return Math.min(plan.options.timeout ?? Infinity, this.#options.executionTimeout);
  }

  #toErrorMessage(problem: string, plan: EndpointPlan, files: readonly string[]): string {
    if (problem === 'timeout')
      return `the top level of ${plan.entry} does not end within ${this.#loadLimitOf(plan) / 1000} s; move long work into the function`;
    if (problem === 'memory')
      return `the top level of ${plan.entry} needs more than ${this.#options.isolateMemoryMb} MB of memory`;
    if (this.#scheduler.problem !== undefined && problem.endsWith(this.#scheduler.problem)) return problem;
    // isolated-vm writes the place as `[file:line:column]`.
    const words = explainUnavailable(problem)
      .replace(/^Error: /, '')
      .replace(/ \[([^[\]]+):(\d+):(\d+)\]$/, ' ($1 line $2, column $3)');
    // What is thrown and is no error has no place.
    return files.some((file) => words.includes(file)) ? words : `${words} (${plan.entry})`;
  }
}
