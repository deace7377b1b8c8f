/** What the activator and a sandbox process say to each other: the kinds of frames, whatever program runs in the process. */
import { RESULT_LINES } from '../supervisor/frames.ts';

/** From the activator to the sandbox. */
export const LOAD = 1; // a: slot, b: 1 to be told when it begins; text: the code, in the form of its program
export const RUN = 2; // a: slot, b: 1 to be told when it begins; text: `<depth>,<milliseconds>,<guard>\n<JSON inputs joined by NUL>`
export const DROP = 3; // a: slot
export const REPLY = 4; // text: the answer to the question of the code that runs
export const RUN_RECORDS = 6; // as RUN, but the inputs are joined by line feeds; answered by DONE_RECORDS
export const CHECK = 5; // a: slot; text: as of LOAD; answered by LOADED. Nothing of the code is kept

/** From the sandbox to the activator. */
export const READY = 16;
export const LOADED = 17; // a: slot, b: microseconds; text: empty, or why it cannot be loaded
export const DONE = 18; // a: slot, b: microseconds; text: one line for each input
export const FAILED = 19; // a: slot, b: microseconds; text: JSON of `RunFailure`
export const ASK = 20; // text: JSON of `Question` but for the body, newline, body
export const LOG = 21; // a: slot; text: level, newline, text
export const BEGUN = 22; // a: slot; only of guarded work: the sandbox has begun with it
export const DONE_RECORDS = RESULT_LINES; // a: slot, b: microseconds; text: a line for each, `{"result":…}` or as of DONE

export interface RunFailure {
  /** `threw`: outside of a single answer, such as an unhandled rejection. */
  why: 'timeout' | 'memory' | 'threw';
  message: string;
  /** The frames of what was thrown, in V8's words. */
  stack?: string;
}

/** What code asks of the activator while it runs. */
export interface Question {
  question: 'find' | 'call';
  id: string;
  body: string;
  contentType: string;
  depth: number;
  /** Milliseconds that are left. */
  left: number;
}
