/**
 * Lets a scheduler live with processes that do as they like, for as long as one wants, in no time: random calls, silences,
 * crashes, starts that are slow or fail, reloads, nested calls and large bodies. After each step it looks whether what the
 * scheduler promises still holds.
 */
import { ServiceError } from '../../../lib/errors.ts';
import type { Endpoint } from '../endpoint.ts';
import { policyFor } from '../policy.ts';
import type { Policy } from '../policy.ts';
import type { Question } from '../protocol.ts';
import { Scheduler } from '../scheduler.ts';
import type { Work } from '../work.ts';
import { endpointWith } from './endpoints.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeSandbox } from './fake-sandbox.ts';
import type { Deed, World } from './fake-sandbox.ts';
import { CALM, CHARACTERS, LARGE, VERY_LARGE, Fault, longest, problemOf, startIn, weatherOf } from './places.ts';
import type { Open, Place, Report, Weather } from './places.ts';
import { Random } from '../../../../test/support/random.ts';

export class Simulation implements World {
  readonly clock = new FakeClock();
  readonly random: Random;
  readonly report: Report;
  readonly #policy: Policy;
  readonly #scheduler: Scheduler;
  readonly #places: Place[] = [];
  readonly #open = new Map<number, Open>();
  readonly #running = new Map<number, FakeSandbox>();
  readonly #calledOut = new Set<number>();
  readonly #living = new Set<FakeSandbox>();
  readonly #queueLimit: number;
  readonly #mostProcesses: number;
  #slots = 0;
  #isCalm = false;
  /** … and nothing of before is left. */
  #isQuiet = false;
  #fault: Fault | undefined;
  #mayPromiseHaveSettled = false;
  #weather: Weather = CALM;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.report = { seed, steps: 0, calls: 0, answered: 0, refused: 0, failed: 0, nested: 0, processes: 0, reloads: 0 };
    const { random } = this;
    // Bodies are large from here on, so that they cost the simulation little.
    this.#policy = { ...policyFor(random.between(1, 4)), largeCharacters: 200, veryLargeCharacters: 1000 };
    this.#queueLimit = random.between(5, 60);
    const sandboxes = random.between(1, 3);
    const { quarantineProcesses, quarantineRunning, largeProcesses, largeRunning } = this.#policy;
    const count = random.between(2, 9);
    // What is set aside comes beside those that the quarantine starts itself, for one call or load of each endpoint.
    this.#mostProcesses =
      sandboxes + 2 + quarantineProcesses + 2 * quarantineRunning + 2 * (largeProcesses + largeRunning) + 4 * count;
    this.#scheduler = new Scheduler({
      sandboxes,
      memoryMb: 32,
      queueLimit: this.#queueLimit,
      start: (events) => {
        const made = new FakeSandbox(this, events);
        this.#living.add(made);
        this.report.processes++;
        if (this.#living.size > this.#mostProcesses) this.fault(`${this.#living.size} processes live`);
        return made;
      },
      answer: (_lane, work, question) => this.#answer(work, question),
      warn: () => undefined,
      clock: this.clock,
      policy: this.#policy,
    });
    for (let i = 0; i < count; i++) this.#places.push(this.#newPlace());
    this.#changeWeather();
    this.#arrive();
  }

  /** Lives for so many steps, then lets everything end. @throws Fault. */
  async run(steps: number): Promise<Report> {
    try {
      for (let i = 0; i < steps; i++) await this.#step();
      await this.#end();
    } catch (thrown) {
      if (thrown instanceof Fault) throw thrown;
      this.fault(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    }
    return this.report;
  }

  // ----- what the processes are told -----

  fault(what: string): never {
    this.#fault ??= new Fault(
      `seed ${this.report.seed}, step ${this.report.steps}, at ${this.clock.now()} ms: ${what}`,
    );
    throw this.#fault;
  }

  start(): number | 'exit' | 'never' {
    return startIn(this.#weather, this.random);
  }

  starve(): number {
    return this.random.chance(this.#weather.starving) ? this.random.between(50, 1500) : 0;
  }

  onRun(id: number, process: FakeSandbox): void {
    if (this.#calledOut.has(id)) this.fault(`call ${id} runs again after it called out`);
    if (this.#running.has(id)) this.fault(`call ${id} runs twice at the same time`);
    this.#running.set(id, process);
    const open = this.#open.get(id);
    if (open === undefined) return this.fault(`call ${id} runs after it was answered`);
    open.place.hungrySince = undefined;
  }

  onOver(process: FakeSandbox): void {
    for (const [id, runs] of this.#running) if (runs === process) this.#running.delete(id);
  }

  onGone(process: FakeSandbox): void {
    this.#living.delete(process);
  }

  // ----- what happens -----

  async #step(): Promise<void> {
    if (!this.clock.step()) this.fault('nothing will ever happen again');
    if (this.#mayPromiseHaveSettled) {
      this.#mayPromiseHaveSettled = false;
      for (let i = 0; i < 6; i++) await Promise.resolve();
    }
    this.report.steps++;
    // It may have been thrown where nobody heard it.
    if (this.#fault !== undefined) throw this.#fault;
    this.#check();
  }

  #arrive(): void {
    if (this.#isCalm) return;
    this.clock.after(this.random.between(0, this.#weather.rate), () => {
      const burst = this.random.chance(0.02) ? this.random.between(2, 80) : 1;
      const place = this.#anyPlace();
      for (let i = 0; i < burst; i++) if (place !== undefined) this.#call(place);
      if (this.random.chance(0.01)) this.#reload();
      if (this.random.chance(this.#weather.killing)) this.#killOne();
      this.#arrive();
    });
  }

  #changeWeather(): void {
    if (this.#isCalm) return;
    this.#weather = weatherOf(this.random);
    this.clock.after(this.random.between(500, 20_000), () => this.#changeWeather());
  }

  #anyPlace(): Place | undefined {
    const loaded = this.#places.filter(({ isLoaded }) => isLoaded);
    return loaded[this.random.between(0, loaded.length - 1)];
  }

  #killOne(): void {
    const living = [...this.#living].filter(({ isKilled }) => !isKilled);
    living[this.random.between(0, living.length - 1)]?.exit(this.random.chance(0.7) ? 'SIGKILL' : 'SIGSEGV');
  }

  #newPlace(): Place {
    const { random } = this;
    const place = { character: random.oneOf(CHARACTERS), callers: random.between(1, 4), ...this.#fresh() };
    this.#load(place);
    return place;
  }

  #fresh(): Omit<Place, 'character' | 'callers'> {
    return { endpoint: this.#newEndpoint(), isLoaded: false, loads: 0, open: 0, hungrySince: undefined };
  }

  #newEndpoint(): Endpoint {
    const { random } = this;
    const slot = ++this.#slots;
    const does = this.#isCalm || random.chance(0.9) ? 'answer' : random.oneOf(['throw', 'crash', 'hang'] as const);
    const loadText = JSON.stringify({ id: slot, does, ms: random.between(1, 30) } satisfies Deed);
    const limit = random.oneOf([200, 700, 2000, 5000]);
    return endpointWith({ id: `e${slot}`, slot, loadText, limit, oneByOne: random.chance(0.1) }, this.#policy);
  }

  #load(place: Place): void {
    const { endpoint } = place;
    place.isLoaded = false;
    place.loads++;
    void this.#scheduler.load(endpoint).then((problem) => {
      place.loads--;
      if (place.endpoint !== endpoint) return;
      place.isLoaded = problem === '';
      if (problem !== '') this.#reload(place);
    });
  }

  /** Another endpoint takes the place of one that may have calls. */
  #reload(place = this.random.oneOf(this.#places as [Place, ...Place[]])): void {
    this.report.reloads++;
    const old = place.endpoint;
    const i = this.#places.indexOf(place);
    if (i < 0) return;
    this.#scheduler.forget(old);
    const next: Place = { ...place, ...this.#fresh() };
    this.#places[i] = next;
    this.clock.after(this.random.between(0, 200), () => {
      if (this.#places.includes(next)) this.#load(next);
    });
    this.#old.push(place);
  }

  /** Those that were replaced, until all of their calls have ended. */
  #old: Place[] = [];

  /** `nested`: hears when it is over. */
  #call(place: Place, nested?: { left: number; depth: number; caller: string; isOver: () => void }): void {
    const { random, clock, report } = this;
    const { character, endpoint } = place;
    const id = ++report.calls;
    const does = !this.#isCalm && random.chance(character.part) ? random.oneOf(character.does) : 'answer';
    const deed: Deed & { padding?: string } = { id, does, ms: this.#isCalm ? 0 : random.between(0, character.ms) };
    if (random.chance(0.03)) deed.padding = random.chance(0.3) ? VERY_LARGE : LARGE;
    const now = clock.now();
    const isHurried = nested === undefined && random.chance(0.1);
    const deadline = nested === undefined ? (isHurried ? now + random.between(1, 1000) : Infinity) : now + nested.left;
    const open: Open = { id, since: now, place };
    this.#open.set(id, open);
    place.open++;
    place.hungrySince ??= now;
    const end = (): void => {
      if (!this.#open.delete(id)) this.fault(`call ${id} is answered twice`);
      this.#calledOut.delete(id);
      if (--place.open === 0) place.hungrySince = undefined;
      if (this.#running.has(id) && !(this.#running.get(id)?.isKilled ?? true))
        this.fault(`call ${id} is answered while it runs`);
      nested?.isOver();
    };
    this.#scheduler.submit(endpoint, {
      input: JSON.stringify(deed),
      depth: nested?.depth ?? 0,
      scope: { find: () => undefined },
      patience: Math.min(now + endpoint.limit, deadline),
      deadline,
      caller: nested?.caller ?? `caller ${random.between(1, place.callers)}`,
      resolve: (result) => {
        if (result !== String(id)) this.fault(`call ${id} has the answer of ${result}`);
        if (deed.does === 'throw') this.fault(`call ${id} should have thrown`);
        report.answered++;
        end();
      },
      reject: (error) => {
        if (!(error instanceof ServiceError)) this.fault(`call ${id} hears ${String(error)}`);
        else if (error.status === 503) report.refused++;
        else if (this.#isQuiet) this.fault(`call ${id} hears in calm: ${error.message}`);
        else report.failed++;
        end();
      },
    });
  }

  #answer(work: Work, question: Question): { text: string } | { outside: () => Promise<string> } {
    if (question.question === 'find') return { text: '{"kind":"elsewhere"}' };
    return {
      outside: () => {
        this.report.nested++;
        const id = Number(question.id);
        if (work.calls.length !== 1) this.fault('one of several calls has called out');
        this.#calledOut.add(id);
        return new Promise((resolve) => {
          const isOver = (): void => {
            this.#mayPromiseHaveSettled = true;
            resolve('1');
          };
          const place = this.random.chance(0.5) && question.depth < 4 ? this.#anyPlace() : undefined;
          if (place === undefined) this.clock.after(this.random.between(0, 500), isOver);
          else {
            const { left, depth } = question;
            this.#call(place, { left, depth, caller: work.calls[0]?.caller ?? '', isOver });
          }
        });
      },
    };
  }

  // ----- what must hold -----

  #checkPlace(place: Place): void {
    const isFair = this.#weather.failing + this.#weather.slow === 0;
    const problem = problemOf(place, this.#queueLimit, isFair ? this.clock.now() : 0);
    if (problem !== undefined) this.fault(problem);
  }

  #check(): void {
    // Loads tell of their end by promises.
    this.#mayPromiseHaveSettled = true;
    for (const place of this.#places) this.#checkPlace(place);
    if (this.report.steps % 64 !== 0) return;
    this.#old = this.#old.filter((place) => {
      this.#checkPlace(place);
      return place.open + place.loads > 0;
    });
    const now = this.clock.now();
    const [oldest] = this.#open.values();
    if (oldest !== undefined && now - oldest.since > longest(oldest.place.endpoint.limit))
      this.fault(`call ${oldest.id} has waited for ${now - oldest.since} ms`);
  }

  /** All behave again: everything ends, each endpoint answers, and nothing is left. */
  async #end(): Promise<void> {
    this.#isCalm = true;
    this.#weather = CALM;
    await this.#until('all calls have ended', () => this.#open.size === 0);
    const all = (): Place[] => [...this.#places, ...this.#old];
    await this.#until(
      'all is loaded',
      () => all().every(({ loads }) => loads === 0) && this.#places.every(({ isLoaded }) => isLoaded),
    );
    this.#isQuiet = true;
    for (const place of this.#places) {
      const end = this.clock.now() + CALM_MS;
      for (;;) {
        const { answered } = this.report;
        this.#call(place);
        await this.#until('the call has ended', () => this.#open.size === 0);
        if (this.report.answered > answered) break;
        if (this.clock.now() > end) this.fault(`${place.endpoint.id} answers no call though all is calm`);
      }
    }
    for (const { endpoint } of all()) if (!endpoint.counts.isNothing) this.fault(`${endpoint.id} still counts`);
    // Until it sleeps.
    for (let i = 0; this.clock.step(); i++) {
      if (i > 100_000) this.fault('the scheduler never falls asleep');
    }
    if (this.#scheduler.quarantined > 0) this.fault('a process of the quarantine is left');
    this.#scheduler[Symbol.dispose]();
    while (this.clock.step());
    if (this.#living.size > 0) this.fault(`${this.#living.size} processes outlive the scheduler`);
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const end = this.clock.now() + CALM_MS;
    while (!isSo()) {
      await this.#step();
      if (this.clock.now() > end) this.fault(`not so after ${CALM_MS} ms of calm: ${what}`);
    }
  }
}

/** In which all ends that may, also what waits for a process that never comes up. */
const CALM_MS = 200_000;
