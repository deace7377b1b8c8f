/** One activated javascript endpoint: its code, its waiting calls, and what is known of its manners. */
import { uptime } from '../../lib/uptime.ts';
import type { CallScope, CallTrace } from '../engine.ts';
import { areAlike } from '../like-deadlines.ts';
import { ConsoleBudget } from './console-budget.ts';
import type { LoadRequest } from './frames.ts';

/** A call that waits for its answer. */
export interface PendingCall {
  /** JSON text without NUL. */
  readonly input: string;
  readonly depth: number;
  readonly scope: CallScope;
  readonly trace?: CallTrace | undefined;
  /** Milliseconds of `uptime()` by which it must have its turn. */
  patience: number;
  /** … and by which it must have ended, where its caller has only so much time left; else Infinity. */
  readonly deadline: number;
  /** Who sent it: large bodies are shared out among those. */
  readonly caller: string;
  /** How often it was interrupted; from then on it runs alone. */
  attempts: number;
  resolve(result: string): void;
  reject(error: Error): void;
}

/** For a call that begins again: from now on it runs alone, and it is as patient as when it came. */
export function interrupt(call: PendingCall, { limit }: JsEndpoint, now: number): void {
  call.attempts++;
  call.patience = Math.min(now + limit, call.deadline);
}

/** A batch should end well before a sandbox counts as stuck. */
const BATCH_MICROSECONDS = 20_000;
const BATCH_CALLS = 32;
const BATCH_CHARACTERS = 128 * 1024;
/** After so many good calls an endpoint is known, … */
const KNOWN_CALLS = 20;
/** … and before, this is what one of its calls is expected to take. */
export const UNKNOWN_MICROSECONDS = 20_000;
/** Calls this quick in a row lead out of the quarantine; each relapse doubles how many it takes. */
const QUICK_MICROSECONDS = 20_000;
const FIRST_STREAK = 3;
const LONGEST_STREAK = 1000;

export class JsEndpoint {
  readonly id: string;
  readonly ko: string;
  readonly slot: number;
  readonly load: LoadRequest;
  readonly loadText: string;
  /** Milliseconds a call may take. */
  readonly limit: number;
  /** Who set the limit. */
  readonly limitedBy: string;
  readonly console = new ConsoleBudget();
  readonly queue: PendingCall[] = [];
  inFlight = 0;
  /** Calls with large bodies that wait or run; they stand in no queue here. */
  large = 0;
  quarantined = false;
  /** Its code waits for a remote runtime: such calls need a sandbox of their own. */
  callsOut = false;
  disposed = false;
  /** Its last call ran into a limit. */
  runsAway = false;
  /** Calls that it answered since it was last found guilty. */
  trust = 0;
  #mean: number | undefined;
  #streak = 0;
  #wanted = FIRST_STREAK;

  constructor(
    id: string,
    ko: string,
    slot: number,
    load: LoadRequest,
    limit: number,
    limitedBy = '--execution-timeout',
  ) {
    this.id = id;
    this.ko = ko;
    this.slot = slot;
    this.load = load;
    this.loadText = JSON.stringify(load);
    this.limit = limit;
    this.limitedBy = limitedBy;
  }

  /** It has shown its manners. */
  get isKnown(): boolean {
    return this.trust >= KNOWN_CALLS;
  }

  /** Microseconds that one of its calls is expected to take. */
  get pace(): number {
    const mean = this.#mean ?? UNKNOWN_MICROSECONDS;
    return this.isKnown ? mean : Math.max(mean, UNKNOWN_MICROSECONDS);
  }

  /** Takes the next calls that may share a batch: one that never ran, or is slow, goes alone. */
  take(alone: boolean): PendingCall[] {
    const first = this.queue.shift();
    if (first === undefined) return [];
    const batch = [first];
    if (alone || this.load.freshContext || this.#mean === undefined || first.attempts > 0) return batch;
    const most = Math.min(BATCH_CALLS, Math.floor(BATCH_MICROSECONDS / this.#mean));
    let characters = first.input.length;
    const now = uptime();
    for (;;) {
      const next = this.queue[0];
      if (next === undefined || batch.length >= most || next.attempts > 0) return batch;
      characters += next.input.length;
      if (next.scope !== first.scope || next.depth !== first.depth || characters > BATCH_CHARACTERS) return batch;
      if (!areAlike(next.deadline, first.deadline, now)) return batch;
      batch.push(next);
      this.queue.shift();
    }
  }

  /** Learns from a batch that was answered. */
  answered(calls: number, microseconds: number): void {
    const each = Math.max(1, microseconds / calls);
    this.trust += calls;
    this.runsAway = false;
    this.#mean = this.#mean === undefined ? each : this.#mean * 0.8 + each * 0.2;
    if (!this.quarantined) return;
    this.#streak = each < QUICK_MICROSECONDS ? this.#streak + 1 : 0;
    if (this.#streak >= this.#wanted && !this.callsOut) this.quarantined = false;
  }

  quarantine(): void {
    if (!this.quarantined) this.#wanted = Math.min(LONGEST_STREAK, this.#wanted * 2);
    this.quarantined = true;
    this.trust = 0;
    this.#streak = 0;
    this.#mean = undefined;
  }
}
