/** The processes of a simulation, and the machine that they run on. */
import { FakeSandbox } from './fake-sandbox.ts';
import type { Environment } from './fake-sandbox.ts';
import { NO_FAULTS, conditionsOf, startUnder } from './simulated-endpoints.ts';
import type { Conditions } from './simulated-endpoints.ts';
import { LARGE_PROCESSES, LARGE_RUNNING } from '../../../src/engines/supervisor/exclusive-workers.ts';
import { probationProcesses } from '../../../src/engines/supervisor/policy.ts';
import type { Policy } from '../../../src/engines/supervisor/policy.ts';
import type { ProcessEvents } from '../../../src/engines/supervisor/process.ts';

export interface SimulatedProcessesOptions extends Pick<Environment, 'clock' | 'random' | 'fault'> {
  /** Processes that there may be at once. */
  readonly most: number;
  /** The code of a call begins. */
  readonly onCall: (id: number) => void;
}

/** What is set aside comes beside those that the probation starts itself, for one call or load of each endpoint. */
export function mostProcesses(policy: Policy, sandboxes: number, endpoints: number): number {
  const dedicated = probationProcesses(policy) + 2 * policy.probationRunning + 2 * (LARGE_PROCESSES + LARGE_RUNNING);
  return sandboxes + 2 + dedicated + 4 * endpoints;
}

export class SimulatedProcesses implements Environment {
  readonly clock: Environment['clock'];
  readonly random: Environment['random'];
  readonly fault: Environment['fault'];
  conditions: Conditions = NO_FAULTS;
  readonly #most: number;
  readonly #onCall: (id: number) => void;
  readonly #processes = new Set<FakeSandbox>();
  /** The process in which a call runs. */
  readonly #running = new Map<number, FakeSandbox>();
  #isSteady = false;

  constructor({ clock, random, fault, most, onCall }: SimulatedProcessesOptions) {
    this.clock = clock;
    this.random = random;
    this.fault = fault;
    this.#most = most;
    this.#onCall = onCall;
  }

  get count(): number {
    return this.#processes.size;
  }

  add(events: ProcessEvents): FakeSandbox {
    const made = new FakeSandbox(this, events);
    this.#processes.add(made);
    if (this.count > this.#most) this.fault(`${this.count} processes live`);
    return made;
  }

  /** True while a process that was not ended runs the call. */
  isRunning(id: number): boolean {
    return this.#running.get(id)?.isKilled === false;
  }

  /** Somebody else ends one of them. */
  endOne(): void {
    const running = [...this.#processes].filter(({ isKilled }) => !isKilled);
    running[this.random.between(0, running.length - 1)]?.exit(this.random.chance(0.7) ? 'SIGKILL' : 'SIGSEGV');
  }

  /** From now on the conditions change from time to time, until `endFaults`. */
  changeConditions(): void {
    if (this.#isSteady) return;
    this.conditions = conditionsOf(this.random);
    this.clock.after(this.random.between(500, 20_000), () => this.changeConditions());
  }

  endFaults(): void {
    this.#isSteady = true;
    this.conditions = NO_FAULTS;
  }

  start(): number | 'exit' | 'never' {
    return startUnder(this.conditions, this.random);
  }

  coreDelay(): number {
    return this.random.chance(this.conditions.starved) ? this.random.between(50, 1500) : 0;
  }

  onRun(id: number, process: FakeSandbox): void {
    if (this.#running.has(id)) this.fault(`call ${id} runs twice at the same time`);
    this.#running.set(id, process);
    this.#onCall(id);
  }

  onOver(process: FakeSandbox): void {
    for (const [id, runs] of this.#running) if (runs === process) this.#running.delete(id);
  }

  onGone(process: FakeSandbox): void {
    this.#processes.delete(process);
  }
}
