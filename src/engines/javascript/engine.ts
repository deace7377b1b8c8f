/** The `javascript` engine: code nobody vetted, in V8 isolates inside processes that may be ended at any time. */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { whyNothingStarts } from '../../confinement/launch.ts';
import type { Kernel } from '../../confinement/walls.ts';
import { messageOf } from '../../lib/errors.ts';
import { Tally } from '../../lib/tally.ts';
import { digestOf } from '../../lib/text.ts';
import { uptime } from '../../lib/time.ts';
import type { ConsoleLines } from '../console-lines.ts';
import {
  ActivationFailure,
  type EndpointPlan,
  type Engine,
  type EngineFigures,
  type EngineHealth,
  type Executor,
  type KnownLoads,
} from '../engine.ts';
import { words } from '../supervisor/answers.ts';
import { type Removal, REMOVALS } from '../supervisor/calls-in-turn.ts';
import { realClock } from '../supervisor/clock.ts';
import { Endpoint } from '../supervisor/endpoint.ts';
import type { Level } from '../supervisor/from-program.ts';
import { type Policy, policyFor, policyForRecords, policyForSome } from '../supervisor/policy.ts';
import { Pool, type PoolOptions } from '../supervisor/pool.ts';
import { neverStarted, ChildProgram } from '../supervisor/process.ts';
import { readCode, type LoadRequest } from './code-files.ts';
import { JavascriptExecutor, LaterExecutor } from './executor.ts';
import { type Isolation, mostGroups, ProcessGroups } from './process-groups.ts';
import { sandboxCommand, sandboxProgram } from './program.ts';
import { answersWithin } from './questions.ts';
import { placeIn } from './stack-place.ts';
import { TypeStripper } from './typescript/type-stripper.ts';
import { explainUnavailable } from './unavailable.ts';

export interface JavascriptOptions {
  /** Milliseconds a call may take. */
  readonly executionTimeout: number;
  readonly isolateMemoryMb: number;
  /** Characters of an answer. */
  readonly maxResult: number;
  /** Calls that may wait for one endpoint. */
  readonly queueLimit: number;
  readonly sandboxes: number;
  /** Which knowledge objects share processes. */
  readonly isolation: Isolation;
  readonly kernel: Kernel;
  /** At a start, code that an earlier one saw to load is loaded by its first call. */
  readonly known?: KnownLoads;
  /** What `context.getProperty` knows. */
  readonly properties: Readonly<Record<string, string>>;
  readonly log: Logger;
  /** Keeps the latest lines that code prints. */
  readonly consoles?: ConsoleLines | undefined;
}

/** The processes of a group of knowledge objects. */
export interface GroupProcesses extends Disposable {
  readonly calls: Pool;
  /** Of its own, so that no single call waits for a batch of them; it has no process while there are none. */
  readonly records: Pool;
}

export class JavascriptEngine implements Engine {
  readonly name = 'javascript';
  readonly method = 'post';
  readonly builtIn = true;
  readonly release = `V8 ${process.versions.v8}`;
  readonly #options: JavascriptOptions;
  readonly #groups: ProcessGroups<GroupProcesses>;
  readonly #policy: Policy;
  readonly #policyForRecords: Policy;
  readonly #removals = new Tally<Removal>(REMOVALS);
  readonly #stripper = new TypeStripper();
  /** Of what code is loaded with. */
  readonly #settings: string;
  #slots = 0;

  constructor(options: JavascriptOptions) {
    this.#options = options;
    const { executionTimeout, isolateMemoryMb, maxResult, properties } = options;
    this.#settings = digestOf(JSON.stringify([executionTimeout, isolateMemoryMb, maxResult, properties])).slice(0, 16);
    const isShared = options.isolation === 'shared';
    const cores = availableParallelism();
    this.#policy = isShared ? policyFor(cores) : policyForSome(policyFor(cores));
    this.#policyForRecords = isShared ? policyForRecords(cores) : policyForSome(policyForRecords(cores));
    this.#groups = new ProcessGroups({
      isolation: options.isolation,
      most: mostGroups(cores),
      queueLimit: options.queueLimit,
      clock: realClock,
      open: this.#opener(),
    });
  }

  /** What starts the processes of groups. */
  #opener(): (key: string) => GroupProcesses {
    const { sandboxes, isolateMemoryMb, queueLimit, kernel, log } = this.#options;
    let program: string | undefined;
    return (key) => {
      const parts: PoolOptions = {
        sandboxes,
        memoryMb: isolateMemoryMb,
        queueLimit,
        start: (events) => {
          try {
            return new ChildProgram(sandboxCommand((program ??= sandboxProgram()), kernel), events, kernel);
          } catch (thrown) {
            return neverStarted(events, messageOf(thrown));
          }
        },
        conduct: {
          inTurn: {
            answer: answersWithin(key),
            warn: (facts, message) => log.warn(facts, message),
            removals: this.#removals,
          },
        },
        policy: this.#policy,
      };
      const calls = new Pool(parts);
      const records = new Pool({ ...parts, policy: this.#policyForRecords });
      return {
        calls,
        records,
        [Symbol.dispose]: () => {
          calls[Symbol.dispose]();
          records[Symbol.dispose]();
        },
      };
    };
  }

  async activate(plan: EndpointPlan): Promise<Executor> {
    const load = await this.#loadRequestOf(plan);
    const endpoint = this.#endpointOf(plan, load);
    const { known } = this.#options;
    const group = this.#groups.keyOf(plan.ko);
    const executor = new JavascriptExecutor(endpoint, group, this.#groups, this.#policyForRecords);
    this.#groups.shared?.calls.prepare();
    const key = this.#keyOf(plan);
    if (known?.loads(key) === true) return executor;
    const wait = { id: plan.id, by: Infinity, isNested: false };
    await this.#groups.run(group, wait, async ({ calls }) => {
      const problem = await calls.load(endpoint);
      known?.rememberLoad(key, problem === '');
      if (problem === '') return;
      calls.forget(endpoint);
      throw new ActivationFailure(this.#toErrorMessage(problem, plan, Object.keys(load.files), calls));
    });
    return executor;
  }

  activateKnown(
    about: Pick<EndpointPlan, 'id' | 'checksum'>,
    planOf: () => Promise<EndpointPlan>,
  ): Executor | undefined {
    if (this.#options.known?.loads(this.#keyOf(about)) !== true) return undefined;
    this.#groups.shared?.calls.prepare();
    return new LaterExecutor(async () => {
      const plan = await planOf();
      const endpoint = this.#endpointOf(plan, await this.#loadRequestOf(plan));
      return new JavascriptExecutor(endpoint, this.#groups.keyOf(plan.ko), this.#groups, this.#policyForRecords);
    });
  }

  /** The same for the same code, run in the same way. */
  #keyOf({ id, checksum }: Pick<EndpointPlan, 'id' | 'checksum'>): string {
    return `${this.name} ${this.#settings} ${id} ${checksum}`;
  }

  health(): EngineHealth {
    const problem = this.#schedulers().find((each) => each.problem)?.problem ?? whyNothingStarts(this.#options.kernel);
    return {
      status: problem === undefined ? 'UP' : 'DOWN',
      details: { engines: [this.name], ...(problem !== undefined && { problem }) },
    };
  }

  figures(): EngineFigures {
    const all = this.#schedulers().map((scheduler) => scheduler.figures('sandbox'));
    const sum = (key: 'waiting' | 'isolates'): number => all.reduce((total, each) => total + each[key], 0);
    return {
      waiting: sum('waiting') + this.#groups.waiting,
      longestQueue: Math.max(0, ...all.map(({ longestQueue }) => longestQueue)),
      kinds: ['sandbox'],
      processes: all.flatMap(({ processes }) => processes),
      isolates: sum('isolates'),
      restarts: REMOVALS.map((reason) => ['sandbox', reason, this.#removals.of(reason)]),
    };
  }

  info(): Record<string, unknown> {
    const schedulers = this.#schedulers();
    return {
      isolation: this.#options.isolation,
      sandboxes: schedulers.reduce((sum, { workers }) => sum + workers.length, 0),
      quarantined: schedulers.reduce((sum, { onProbation }) => sum + onProbation, 0),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#groups[Symbol.dispose]();
    await this.#stripper[Symbol.asyncDispose]();
  }

  #schedulers(): Pool[] {
    return this.#groups.all().flatMap(({ calls, records }) => [calls, records]);
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
        words,
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
      this.#policy,
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

  #toErrorMessage(problem: string, plan: EndpointPlan, files: readonly string[], calls: Pool): string {
    if (problem === 'timeout')
      return `the top level of ${plan.entry} does not end within ${this.#loadLimitOf(plan) / 1000} s; move long work into the function`;
    if (problem === 'memory')
      return `the top level of ${plan.entry} needs more than ${this.#options.isolateMemoryMb} MB of memory`;
    if (calls.problem !== undefined && problem.endsWith(calls.problem)) return problem;
    // isolated-vm writes the place as `[file:line:column]`.
    const words = explainUnavailable(problem)
      .replace(/^Error: /, '')
      .replace(/ \[([^[\]]+):(\d+):(\d+)\]$/, ' ($1 line $2, column $3)');
    // What is thrown and is no error has no place.
    return files.some((file) => words.includes(file)) ? words : `${words} (${plan.entry})`;
  }
}

/** Characters that may come at once, … */
const BURST_CHARACTERS = 128 * 1024;
/** … characters a millisecond that may follow, … */
const CHARACTERS_PER_MS = 100;
/** … and what a line costs beside its text. */
const CHARACTERS_PER_LINE = 100;

export class ConsoleBudget {
  #used = 0;
  #at = 0;
  #full = false;

  /** `now`: milliseconds of `uptime()`. `last`: the first of those that are left out. */
  take(characters: number, now: number): 'yes' | 'last' | 'no' {
    this.#used = Math.max(0, this.#used - (now - this.#at) * CHARACTERS_PER_MS);
    this.#at = now;
    const wasFull = this.#full;
    this.#full = this.#used > (wasFull ? BURST_CHARACTERS / 2 : BURST_CHARACTERS);
    if (this.#full) return wasFull ? 'no' : 'last';
    this.#used += characters + CHARACTERS_PER_LINE;
    return 'yes';
  }
}
