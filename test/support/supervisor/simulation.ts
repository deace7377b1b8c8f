/**
 * Runs a scheduler with processes that do anything, for any number of steps, without waiting: random calls, silences,
 * crashes, starts that are slow or fail, reloads, nested calls and large bodies. After each step it looks whether what the
 * scheduler promises still holds. Where knowledge objects do not share processes, there are more groups of them than may have
 * processes at a time. Some services stop in the middle.
 */
import type { Endpoint } from '../../../src/engines/supervisor/endpoint.ts';
import { messageOf } from '../../../src/lib/errors.ts';
import { ProcessGroups } from '../../../src/engines/javascript/process-groups.ts';
import type { CallParts } from '../../../src/engines/supervisor/work.ts';
import { policyFor, policyForSome } from '../../../src/engines/supervisor/policy.ts';
import type { Policy } from '../../../src/engines/supervisor/policy.ts';
import { Pool } from '../../../src/engines/supervisor/pool.ts';
import { endpointWith } from './endpoints.ts';
import { FakeClock } from './fake-clock.ts';
import { SimulatedCalls } from './simulated-calls.ts';
import { Fault, PROFILES, longestMs, partsOf, problemOf } from './simulated-endpoints.ts';
import type { Report, SimulatedEndpoint } from './simulated-endpoints.ts';
import { SimulatedProcesses, mostProcesses } from './simulated-processes.ts';
import { Random } from '../random.ts';

export class Simulation {
  readonly clock = new FakeClock();
  readonly random: Random;
  readonly report: Report;
  readonly #processes: SimulatedProcesses;
  readonly #policy: Policy;
  readonly #groups: ProcessGroups<Pool>;
  /** After so many steps the service stops, with all that it is at. */
  readonly #stopsAfter: number;
  readonly #endpoints: SimulatedEndpoint[] = [];
  readonly #calls: SimulatedCalls;
  readonly #queueLimit: number;
  #slots = 0;
  #isDraining = false;
  #hasStopped = false;
  #fault: Fault | undefined;
  #mayPromiseHaveSettled = false;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.report = {
      seed,
      steps: 0,
      calls: 0,
      answered: 0,
      refused: 0,
      failed: 0,
      left: 0,
      nested: 0,
      processes: 0,
      reloads: 0,
    };
    const { random } = this;
    // Bodies are large from here on, so that they cost the simulation little.
    const isolation = random.chance(0.3) ? 'naan' : 'shared';
    const policy = { ...policyFor(random.between(1, 4)), largeCharacters: 200 };
    this.#policy = isolation === 'shared' ? policy : policyForSome(policy);
    this.#stopsAfter = random.chance(0.3) ? random.between(100, 8000) : Infinity;
    this.#queueLimit = random.between(5, 60);
    const sandboxes = random.between(1, 3);
    const count = random.between(2, 9);
    const mostGroups = random.between(1, 4);
    const times = isolation === 'shared' ? 1 : 2 * mostGroups;
    const most = times * mostProcesses(this.#policy, sandboxes, count);
    const fault = (what: string): never => this.fault(what);
    const onCall = (id: number): void => this.#calls.onRun(id);
    this.#processes = new SimulatedProcesses({ clock: this.clock, random, most, fault, onCall });
    this.#groups = new ProcessGroups({
      ...{ isolation, most: mostGroups, queueLimit: this.#queueLimit, clock: this.clock },
      open: () =>
        new Pool({
          ...{ sandboxes, memoryMb: 32, queueLimit: this.#queueLimit, clock: this.clock, policy: this.#policy },
          start: (events) => {
            this.report.processes++;
            return this.#processes.add(events);
          },
          conduct: {
            inTurn: { answer: (_worker, work, question) => this.#calls.answer(work, question), warn: () => undefined },
          },
        }),
    });
    this.#calls = new SimulatedCalls({
      ...{ clock: this.clock, random, report: this.report, fault },
      submit: (simulated, parts) => this.#submit(simulated, parts),
      hasStopped: () => this.#hasStopped,
      isRunning: (id) => this.#processes.isRunning(id),
      anyEndpoint: () => this.#anyEndpoint(),
      onNestedEnd: () => (this.#mayPromiseHaveSettled = true),
    });
    for (let i = 0; i < count; i++) this.#endpoints.push(this.#newSimulated());
    this.#processes.changeConditions();
    this.#arrive();
  }

  /** Runs so many steps, then lets everything end. @throws Fault. */
  async run(steps: number): Promise<Report> {
    try {
      for (let i = 0; i < Math.min(steps, this.#stopsAfter); i++) await this.#step();
      if (steps < this.#stopsAfter) await this.#end();
      else await this.#stop();
    } catch (thrown) {
      if (thrown instanceof Fault) throw thrown;
      this.fault(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    }
    if (this.#fault !== undefined) throw this.#fault;
    return this.report;
  }

  fault(what: string): never {
    this.#fault ??= new Fault(
      `seed ${this.report.seed}, step ${this.report.steps}, at ${this.clock.now()} ms: ${what}`,
    );
    throw this.#fault;
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
    if (this.#isDraining) return;
    this.clock.after(this.random.between(0, this.#processes.conditions.rate), () => {
      const burst = this.random.chance(0.02) ? this.random.between(2, 80) : 1;
      const simulated = this.#anyEndpoint();
      for (let i = 0; i < burst; i++) if (simulated !== undefined) this.#calls.call(simulated);
      if (this.random.chance(0.01)) this.#reload();
      if (this.random.chance(this.#processes.conditions.killing)) this.#processes.endOne();
      this.#arrive();
    });
  }

  #anyEndpoint(): SimulatedEndpoint | undefined {
    const loaded = this.#endpoints.filter(({ isLoaded }) => isLoaded);
    return loaded[this.random.between(0, loaded.length - 1)];
  }

  #newSimulated(): SimulatedEndpoint {
    const { random } = this;
    const [profile, callers, group] = [random.oneOf(PROFILES), random.between(1, 4), `g${random.between(1, 6)}`];
    const simulated = { profile, callers, group: this.#groups.shared ? '' : group, ...this.#fresh() };
    this.#load(simulated);
    return simulated;
  }

  #fresh(): Omit<SimulatedEndpoint, 'profile' | 'callers' | 'group'> {
    return { endpoint: this.#newEndpoint(), isLoaded: false, loads: 0, open: 0, waitingSince: undefined };
  }

  #newEndpoint(): Endpoint {
    return endpointWith(partsOf(++this.#slots, this.#isDraining, this.random), this.#policy);
  }

  #load(simulated: SimulatedEndpoint): void {
    const { endpoint } = simulated;
    simulated.isLoaded = false;
    simulated.loads++;
    const wait = { id: endpoint.id, by: Infinity, isNested: false };
    const loaded = this.#groups.run(simulated.group, wait, (scheduler) => scheduler.load(endpoint));
    void loaded.catch(messageOf).then((problem) => {
      simulated.loads--;
      if (simulated.endpoint !== endpoint) return;
      simulated.isLoaded = problem === '';
      if (problem !== '' && !this.#hasStopped) this.#reload(simulated);
    });
  }

  /** Another endpoint takes the place of one that may have calls. */
  #reload(simulated = this.random.oneOf(this.#endpoints as [SimulatedEndpoint, ...SimulatedEndpoint[]])): void {
    this.report.reloads++;
    const old = simulated.endpoint;
    const i = this.#endpoints.indexOf(simulated);
    if (i < 0) return;
    old.disposed = true;
    this.#groups.get(simulated.group)?.forget(old);
    const next: SimulatedEndpoint = { ...simulated, ...this.#fresh() };
    this.#endpoints[i] = next;
    this.clock.after(this.random.between(0, 200), () => {
      if (this.#endpoints.includes(next)) this.#load(next);
    });
    this.#old.push(simulated);
  }

  /** Those that were replaced, until all of their calls have ended. */
  #old: SimulatedEndpoint[] = [];

  // ----- what must hold -----

  #checkEndpoint(simulated: SimulatedEndpoint): void {
    const { failing, slow } = this.#processes.conditions;
    const isFair = failing + slow === 0;
    const problem = problemOf(
      simulated,
      this.#queueLimit,
      isFair ? this.clock.now() : 0,
      this.#groups.shared !== undefined,
    );
    if (problem !== undefined) this.fault(problem);
  }

  #check(): void {
    // Loads tell of their end by promises.
    this.#mayPromiseHaveSettled = true;
    for (const simulated of this.#endpoints) this.#checkEndpoint(simulated);
    if (this.report.steps % 64 !== 0) return;
    this.#old = this.#old.filter((simulated) => {
      this.#checkEndpoint(simulated);
      return simulated.open + simulated.loads > 0;
    });
    const now = this.clock.now();
    const { oldest } = this.#calls;
    if (oldest !== undefined && now - oldest.since > longestMs(oldest.simulated.endpoint.limit))
      this.fault(`call ${oldest.id} has waited for ${now - oldest.since} ms`);
  }

  /** No more faults: everything ends, each endpoint answers, and nothing is left. */
  async #end(): Promise<void> {
    this.#isDraining = this.#calls.isDraining = true;
    this.#processes.endFaults();
    await this.#until('all calls have ended', () => this.#calls.open === 0);
    const all = (): SimulatedEndpoint[] => [...this.#endpoints, ...this.#old];
    await this.#until(
      'all is loaded',
      () => all().every(({ loads }) => loads === 0) && this.#endpoints.every(({ isLoaded }) => isLoaded),
    );
    this.#calls.isDrained = true;
    for (const simulated of this.#endpoints) {
      const end = this.clock.now() + DRAIN_MS;
      for (;;) {
        const { answered } = this.report;
        this.#calls.call(simulated);
        await this.#until('the call has ended', () => this.#calls.open === 0);
        if (this.report.answered > answered) break;
        if (this.clock.now() > end) this.fault(`${simulated.endpoint.id} answers no call though no fault is left`);
      }
    }
    for (const { endpoint } of all()) if (!endpoint.counts.isNothing) this.fault(`${endpoint.id} still counts`);
    // Until its clock stops.
    for (let i = 0; this.clock.step(); i++) {
      if (i > 100_000) this.fault('the scheduler never stops its clock');
    }
    if (this.#groups.all().some(({ onProbation }) => onProbation > 0)) this.fault('a process on probation is left');
    this.#endProcesses();
  }

  /** The service stops: all that is open is answered at once. */
  async #stop(): Promise<void> {
    this.#isDraining = true;
    this.#processes.endFaults();
    this.#endProcesses();
    for (let i = 0; i < 20; i++) await Promise.resolve();
    while (this.clock.step());
    for (let i = 0; i < 20; i++) await Promise.resolve();
    if (this.#calls.open > 0) this.fault(`${this.#calls.open} calls are not answered though the service has stopped`);
    const loads = [...this.#endpoints, ...this.#old].reduce((sum, each) => sum + each.loads, 0);
    if (loads > 0) this.fault(`${loads} loads have not ended though the service has stopped`);
  }

  #endProcesses(): void {
    this.#hasStopped = true;
    this.#groups[Symbol.dispose]();
    while (this.clock.step());
    if (this.#processes.count > 0) this.fault(`${this.#processes.count} processes outlive the scheduler`);
  }

  /** As the executor of an endpoint does. */
  #submit({ endpoint, group }: SimulatedEndpoint, parts: CallParts): void {
    const { shared } = this.#groups;
    if (shared !== undefined) return shared.submit(endpoint, parts);
    const wait = { id: endpoint.id, by: parts.beginBy, isNested: parts.depth > 0 };
    const use = (scheduler: Pool): Promise<string> =>
      new Promise((resolve, reject) => scheduler.submit(endpoint, { ...parts, resolve, reject }));
    // A fault that is thrown there is kept, and thrown again where somebody hears of it.
    void this.#groups
      .run(group, wait, use)
      .then(parts.resolve, parts.reject)
      .catch(() => undefined);
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const end = this.clock.now() + DRAIN_MS;
    while (!isSo()) {
      await this.#step();
      if (this.clock.now() > end) this.fault(`not so after ${DRAIN_MS} ms without faults: ${what}`);
    }
  }
}

/** In which all ends that may, also what waits for a process that never comes up. */
const DRAIN_MS = 200_000;
