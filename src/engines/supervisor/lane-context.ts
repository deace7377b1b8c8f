/** What lanes are given, and whom they tell. */
import type { Clock } from './clock.ts';
import type { AskedQuestion, Line, ProgramFailure, RecordsLine } from './from-program.ts';
import type { Lane } from './lane.ts';
import type { Policy } from './policy.ts';
import type { StartSandbox } from './process.ts';
import type { Starts } from './starts.ts';
import type { Work } from './work.ts';

export interface LaneEvents {
  onReady(): void;
  /** `problem`: empty text when it worked. */
  onLoaded(lane: Lane, work: Work, problem: string): void;
  onDone(lane: Lane, work: Work, lines: readonly Line[], microseconds: number): void;
  onRecordsDone(lane: Lane, work: Work, lines: readonly RecordsLine[], microseconds: number): void;
  onFailed(lane: Lane, work: Work, failure: ProgramFailure): void;
  onAsk(lane: Lane, work: Work, question: AskedQuestion): void;
  /** The process ended; `work` is what it had not answered. */
  onExit(lane: Lane, work: readonly Work[], reason: string): void;
}

/** Answers what code asks of the activator, in the form of its program. Called outside of the sandbox when `outside`. */
export type AnswerQuestion = (
  lane: Lane,
  work: Work,
  question: AskedQuestion,
) => { text: string } | { outside: () => Promise<string> };

/** What all lanes of a scheduler share. */
export interface LaneContext {
  readonly events: LaneEvents;
  readonly start: StartSandbox;
  readonly clock: Clock;
  readonly policy: Policy;
  readonly starts: Starts;
}
