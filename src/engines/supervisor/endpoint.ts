/** What calls wait for and are judged by: an endpoint of an isolate, or all endpoints of a knowledge object in workers of its own. */
import type { CodePlace } from '../../lib/code-place.ts';
import type { Level, ProgramFailure } from './from-program.ts';
import { batchSize } from './policy.ts';
import type { Policy, CostEstimate } from './policy.ts';
import { Counts } from './work.ts';
import type { Code, PendingCall, Work } from './work.ts';

/** What callers are told, in the words of an engine. */
export interface Words {
  abandoned(endpoint: Endpoint): Error;
  /** `problem`: why no worker can be started. */
  noTurn(endpoint: Endpoint, call: PendingCall, problem: string | undefined): Error;
  queueFull(endpoint: Endpoint, limit: number): Error;
  ending(): Error;
  /** What the program says of a call. */
  errorOf(failure: ProgramFailure, work: Work): Error;
}

/** What an engine says of an endpoint. */
export interface EndpointParts {
  readonly words: Words;
  readonly id: string;
  /** By which sandboxes know its code, from 1. */
  readonly slot: number;
  /** The code, in the form of the program in the sandbox. */
  readonly loadText: string;
  /** Milliseconds a call may take. */
  readonly limit: number;
  /** Who set the limit. */
  readonly limitedBy: string;
  /** Characters of an answer. */
  readonly maxResult: number;
  /** MB that its code may use, and who set that. */
  readonly memoryMb: number;
  readonly memoryLimitedBy: string;
  /** Each of its calls is a batch of its own. */
  readonly oneByOne: boolean;
  log(level: Level, text: string): void;
  /** Adds to a message of the runtime what to do. */
  explain(message: string): string;
  /** The place in its code of which a stack tells. */
  placeIn(stack: string): CodePlace | undefined;
}

/** Good calls that lead out of probation at most. */
const MOST_WANTED = 1000;

const BATCH_CHARACTERS = 128 * 1024;

export class Endpoint implements CostEstimate, Code {
  readonly parts: EndpointParts;
  readonly id: string;
  readonly index: number;
  readonly text: string;
  /** Milliseconds a call may take. */
  readonly limit: number;
  readonly counts = new Counts();
  /** Calls that wait, but for those with large bodies. */
  readonly queue: PendingCall[] = [];
  onProbation = false;
  /** Its code waits for others: such calls need a sandbox of their own. */
  callsOut = false;
  disposed = false;
  timedOut = false;
  trust = 0;
  readonly #policy: Policy;
  #mean: number | undefined;
  /** Good calls that lead out of probation. */
  #wanted: number;

  constructor(parts: EndpointParts, policy: Policy) {
    this.parts = parts;
    this.id = parts.id;
    this.index = parts.slot;
    this.text = parts.loadText;
    this.limit = parts.limit;
    this.#policy = policy;
    this.#wanted = policy.knownAfterCalls / 2;
  }

  get isKnown(): boolean {
    return this.trust >= this.#policy.knownAfterCalls;
  }

  /** Microseconds that one of its calls is expected to take. */
  get pace(): number {
    const { unknownMicroseconds } = this.#policy;
    const mean = this.#mean ?? unknownMicroseconds;
    return this.isKnown ? mean : Math.max(mean, unknownMicroseconds);
  }

  /** True where a call waits. Those at the head of the queue that were abandoned leave it. */
  hasCalls(): boolean {
    const { parts } = this;
    for (let next = this.queue[0]; next !== undefined; next = this.queue[0]) {
      if (!next.isAbandoned) return true;
      this.queue.shift();
      next.giveUp(parts.words.abandoned(this));
    }
    return false;
  }

  /** Takes the next call that another one waits for. */
  takeNested(): PendingCall[] {
    const at = this.queue.findIndex(({ depth, isAbandoned }) => depth > 0 && !isAbandoned);
    return at < 0 ? [] : this.queue.splice(at, 1);
  }

  /** Takes the next calls that may share a batch: one that never ran, or is slow, goes alone. */
  take(alone: boolean, now: number): PendingCall[] {
    let first = this.queue.shift();
    if (first === undefined) return [];
    if (first.records !== undefined) {
      const isAlone = alone || this.parts.oneByOne || this.#mean === undefined;
      const [some = first, rest] = first.divide(isAlone ? 1 : Math.max(1, batchSize(this.#mean ?? 1, this.#policy)));
      if (rest !== undefined) this.queue.unshift(rest);
      first = some;
    }
    const batch = [first];
    if (first.records !== undefined || alone || this.parts.oneByOne || this.#mean === undefined || first.attempts > 0)
      return batch;
    const most = batchSize(this.#mean, this.#policy);
    let characters = first.input.length;
    for (;;) {
      if (!this.hasCalls()) return batch;
      const next = this.queue[0];
      if (next === undefined || batch.length >= most || next.attempts > 0 || next.records !== undefined) return batch;
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
    this.timedOut = false;
    this.#mean = this.#mean === undefined ? each : this.#mean * 0.8 + each * 0.2;
    const isQuick = this.#mean < this.#policy.unknownMicroseconds;
    if (this.trust >= this.#wanted && isQuick && !this.callsOut) this.onProbation = false;
  }

  /**
   * It has to earn its record anew, each time with twice as many calls: without that, code that loops whenever it is trusted
   * again holds up others twice as long in two minutes, and never less.
   */
  putOnProbation(): void {
    if (!this.onProbation) this.#wanted = Math.min(MOST_WANTED, 2 * this.#wanted);
    this.onProbation = true;
    this.trust = 0;
    this.#mean = undefined;
  }
}

/** Milliseconds by which the deadlines of calls in a batch may differ. */
const MAX_APART_MS = 100;
/** Divisor of the time left, by which they may differ too. */
const PART = 20;

/**
 * Whether two calls may share a batch, since all of it ends with the first of them. In milliseconds of `uptime()`;
 * Infinity where there is no end.
 */
export const areAlike = (one: number, other: number, now: number): boolean =>
  one === other || Math.abs(one - other) <= Math.min(MAX_APART_MS, Math.max(0, Math.min(one, other) - now) / PART);
