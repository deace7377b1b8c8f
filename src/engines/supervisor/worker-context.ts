/** What workers are given, and whom they tell. */
import type { Clock } from './clock.ts';
import type { Line, ProgramFailure, RecordsLine } from './from-program.ts';
import type { Batch } from './outgoing-frames.ts';
import type { Policy } from './policy.ts';
import type { StartSandbox } from './process.ts';
import type { Starts } from './starts.ts';
import type { Work } from './work.ts';
import type { Worker } from './worker.ts';
import type { WorkerPolicy } from './worker-policy.ts';

/** How the calls of a process run beside each other; without it they run one after the other, as batches. */
export interface Beside {
  readonly callsAtOnce: number;
  /** See `WorkerProgram`. */
  readonly repliesBy: 'data' | 'control';
  readonly keepsThreads: boolean;
  /** Bytes of a frame. */
  readonly maxFrameBytes: number;
  readonly figures: WorkerPolicy;
  printed(stream: 'stdout' | 'stderr', line: string): void;
  saysOutOfMemory(printed: Buffer): boolean;
}

export interface WorkerEvents {
  onReady(): void;
  /** `problem`: empty text when it worked. */
  onLoaded(worker: Worker, work: Work, problem: string): void;
  onDone(worker: Worker, work: Work, lines: readonly Line[], microseconds: number): void;
  onRecordsDone(worker: Worker, work: Work, lines: readonly RecordsLine[], microseconds: number): void;
  /** Answers to the next records of a call that has a sink. */
  onRecords(worker: Worker, work: Work, lines: readonly RecordsLine[]): void;
  onFailed(worker: Worker, work: Work, failure: ProgramFailure): void;
  /** Its code asks: undefined where the work is not open. @throws ProtocolError. */
  onAsk(worker: Worker, open: Open | undefined, number: number, question: string): void;
  /** It should get no more calls. */
  onSpent(worker: Worker): void;
  /** A place is free, though nothing was answered. */
  onFreed(worker: Worker): void;
  /** It has said what it began, at any time after `drain`; `unbegun` is the work that it will never begin. */
  onDrained(worker: Worker, unbegun: readonly Work[]): void;
  /** The process ended; what it had not answered may have begun, or had not. */
  onExit(worker: Worker, works: readonly Work[], unbegun: readonly Work[], reason: string): void;
}

/** What all workers of a pool share. */
export interface WorkerContext {
  readonly events: WorkerEvents;
  readonly start: StartSandbox;
  readonly clock: Clock;
  readonly policy: Policy;
  readonly starts: Starts;
  readonly beside: Beside | undefined;
}

/** Work that it was given and that its program has not answered; it may have failed meanwhile, and its code runs on. */
export interface Open {
  readonly number: number;
  readonly work: Work;
  /** Questions of its code that have no answer yet. */
  questions: number;
  readonly batch: Batch | undefined;
}
