/** The calls of a simulation: each is answered once, with its own answer, and never runs again once it called out. */
import { ServiceError } from '../../../src/lib/errors.ts';
import type { Random } from '../random.ts';
import type { AskedQuestion } from '../../../src/engines/supervisor/from-program.ts';
import type { CallParts } from '../../../src/engines/supervisor/work.ts';
import type { Work } from '../../../src/engines/supervisor/work.ts';
import type { FakeClock } from './fake-clock.ts';
import { scriptOf } from './simulated-endpoints.ts';
import type { Open, Report, SimulatedEndpoint } from './simulated-endpoints.ts';

export interface SimulatedCallsParts {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly report: Report;
  readonly submit: (simulated: SimulatedEndpoint, parts: CallParts) => void;
  readonly fault: (what: string) => never;
  readonly isRunning: (id: number) => boolean;
  /** The service stops. */
  readonly hasStopped: () => boolean;
  /** One that is loaded. */
  readonly anyEndpoint: () => SimulatedEndpoint | undefined;
  readonly onNestedEnd: () => void;
}

export class SimulatedCalls {
  /** No more faults are made. */
  isDraining = false;
  /** … and nothing of before is left. */
  isDrained = false;
  readonly #parts: SimulatedCallsParts;
  readonly #open = new Map<number, Open>();
  readonly #calledOut = new Set<number>();

  constructor(parts: SimulatedCallsParts) {
    this.#parts = parts;
  }

  /** Calls that are not answered. */
  get open(): number {
    return this.#open.size;
  }

  get oldest(): Open | undefined {
    return this.#open.values().next().value;
  }

  /** A process begins to run it. */
  onRun(id: number): void {
    if (this.#calledOut.has(id)) this.#parts.fault(`call ${id} runs again after it called out`);
    const open = this.#open.get(id);
    if (open === undefined) return this.#parts.fault(`call ${id} runs after it was answered`);
    open.simulated.waitingSince = undefined;
  }

  /** `nested`: hears when it is over. */
  call(
    simulated: SimulatedEndpoint,
    nested?: { left: number; depth: number; caller: string; isOver: () => void },
  ): void {
    const { random, clock, report, submit, fault, isRunning, hasStopped } = this.#parts;
    const { profile, endpoint } = simulated;
    const id = ++report.calls;
    const script = scriptOf(id, profile, this.isDraining, random);
    const now = clock.now();
    const hasCallerDeadline = nested === undefined && random.chance(0.1);
    const deadline =
      nested === undefined ? (hasCallerDeadline ? now + random.between(1, 1000) : Infinity) : now + nested.left;
    const open: Open = { id, since: now, simulated };
    const signal = { aborted: false };
    // Some callers go before they have an answer.
    if (!this.isDraining && random.chance(0.1)) clock.after(random.between(0, 3000), () => (signal.aborted = true));
    this.#open.set(id, open);
    simulated.open++;
    simulated.waitingSince ??= now;
    const end = (): void => {
      if (!this.#open.delete(id)) fault(`call ${id} is answered twice`);
      this.#calledOut.delete(id);
      if (--simulated.open === 0) simulated.waitingSince = undefined;
      if (isRunning(id)) fault(`call ${id} is answered while it runs`);
      nested?.isOver();
    };
    submit(simulated, {
      input: JSON.stringify(script),
      depth: nested?.depth ?? 0,
      scope: { find: () => undefined, call: () => Promise.reject(new Error('nothing is called')) },
      signal,
      beginBy: Math.min(now + endpoint.limit, deadline),
      deadline,
      caller: nested?.caller ?? `caller ${random.between(1, simulated.callers)}`,
      resolve: (result) => {
        if (result !== String(id)) fault(`call ${id} has the answer of ${result}`);
        if (script.does === 'throw') fault(`call ${id} should have thrown`);
        report.answered++;
        end();
      },
      reject: (error) => {
        if (!(error instanceof ServiceError)) fault(`call ${id} hears ${String(error)}`);
        else if (error.code === 'caller-gone') {
          if (!signal.aborted) fault(`call ${id} hears that it was left`);
          report.left++;
        } else if (error.message.includes('stopping') && !hasStopped())
          fault(`call ${id} hears of a stop that is none`);
        else if (error.status === 503) report.refused++;
        else if (this.isDrained) fault(`call ${id} hears once all faults ended: ${error.message}`);
        else report.failed++;
        end();
      },
    });
  }

  answer(work: Work, question: AskedQuestion): { text: string } | { outside: () => Promise<string> } {
    const { clock, random, report, fault, anyEndpoint, onNestedEnd } = this.#parts;
    if (question.what === 'find') return { text: '{"kind":"elsewhere"}' };
    return {
      outside: () => {
        report.nested++;
        const id = Number(question.id);
        if (work.calls.length !== 1) fault('one of several calls has called out');
        this.#calledOut.add(id);
        return new Promise((resolve) => {
          const isOver = (): void => {
            onNestedEnd();
            resolve('1');
          };
          const simulated = random.chance(0.5) && question.depth < 4 ? anyEndpoint() : undefined;
          if (simulated === undefined) clock.after(random.between(0, 500), isOver);
          else {
            const { left, depth } = question;
            this.call(simulated, { left, depth, caller: work.calls[0]?.caller ?? '', isOver });
          }
        });
      },
    };
  }
}
