/**
 * The one place where what a sandbox sends is parsed. The code in it may have taken it over: whatever has not the form
 * that a sandbox gives it is an `OddFrame`, which ends that sandbox.
 */
import { MAX_DEPTH } from '../call-headers.ts';
import { OddFrame } from '../supervisor/frames.ts';
import { RESULT_HEAD } from '../records.ts';
import type { ResultLines } from '../records.ts';
import { answers, kinds } from '../supervisor/messages.ts';

/** Characters; a sandbox cuts what is longer. */
export const MAX_MESSAGE_CHARACTERS = 4000;
export const MAX_STACK_CHARACTERS = 2000;
const MAX_ID_CHARACTERS = 1000;
const MAX_LINE_CHARACTERS = 2000;
/** Bytes in which any error fits, each of its characters escaped. */
export const MAX_ERROR_BYTES = 6 * (MAX_MESSAGE_CHARACTERS + MAX_STACK_CHARACTERS) + 1000;
const MAX_LOG_BYTES = 3 * MAX_LINE_CHARACTERS + 100;

export interface RunFailure {
  /** `threw`: outside of a single answer, such as an unhandled rejection; `unloaded`: it could not be loaded. */
  readonly why: 'timeout' | 'memory' | 'threw' | 'unloaded';
  readonly message: string;
  /** The frames of what was thrown, in V8's words. */
  readonly stack?: string;
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

/** A line of an answer that holds no result: `!`, or `?` where the input is not JSON, and JSON. */
export interface NoResult {
  /** `input`: it is not JSON; `result`: JSON cannot hold it, or it is too large. */
  readonly fault: 'code' | 'input' | 'result';
  readonly message: string;
  /** The code says that its input is invalid. */
  readonly status?: 400 | 422;
  readonly stack?: string;
}

/** The JSON text of a result, which nobody reads on its way, or why there is none. */
export type Line = string | NoResult;

/** Lines of results that follow each other, or one that holds none. */
export type RecordsLine = ResultLines | NoResult;

/** Bytes that the text of a frame may have while so many calls are answered, or other code is called. */
export function mostBytes(kind: number, calls: number, maxResult: number): number {
  if (kind === kinds.results) return calls * (Math.max(maxResult, MAX_ERROR_BYTES) + 1);
  if (kind === kinds.lines) return calls * (Math.max(maxResult, MAX_ERROR_BYTES) + RESULT_HEAD.length + 2);
  if (kind === kinds.answer) return MAX_ERROR_BYTES;
  // The sandbox counts characters, the pipe bytes.
  if (kind === kinds.ask) return calls === 0 ? 0 : 3 * (maxResult + 3 * MAX_ID_CHARACTERS);
  if (kind === kinds.log) return MAX_LOG_BYTES;
  if (kind === kinds.ping || kind === kinds.begun) return 0;
  throw new OddFrame(`there are no frames of kind ${kind}`);
}

/** @throws OddFrame unless there is one line for each call. */
export function linesOf(text: string, calls: number): Line[] {
  const lines = calls === 1 && !text.includes('\n') ? [text] : text.split('\n');
  if (lines.length !== calls) throw new OddFrame(`${calls} calls have ${lines.length} answers`);
  return lines.map(lineOf);
}

/** `text`: a character for each byte, as of `RESULT_LINES`. @throws OddFrame unless there is one line for each record. */
export function recordLinesOf(text: string, records: number): RecordsLine[] {
  const found: RecordsLine[] = [];
  let lines = 0;
  let from = 0;
  let at = 0;
  const endRun = (): void => {
    if (at > from) found.push({ lines: text.slice(from, at), count: lines });
    lines = 0;
  };
  for (let i = 0; i < records; i++) {
    const end = text.indexOf('\n', at);
    if (end < 0) throw new OddFrame(`${records} records have ${i} answers`);
    if (text.startsWith(RESULT_HEAD, at)) lines++;
    else {
      endRun();
      const line = lineOf(Buffer.from(text.slice(at, end), 'latin1').toString('utf8'));
      if (typeof line === 'string') throw new OddFrame('an answer is neither a result nor an error');
      found.push(line);
      from = end + 1;
    }
    at = end + 1;
  }
  endRun();
  if (at !== text.length) throw new OddFrame(`${records} records have more answers`);
  return found;
}

function lineOf(line: string): Line {
  const head = line[0];
  if (head === undefined) throw new OddFrame('an answer is empty');
  if (head !== '!' && head !== '?') return line;
  const { message, status, stack, of } = objectOf(line.slice(1));
  if (typeof message !== 'string' || message.length > MAX_MESSAGE_CHARACTERS)
    throw new OddFrame('an error has no message');
  if (status !== undefined && status !== 400 && status !== 422) throw new OddFrame('an error has another status');
  if (stack !== undefined && !isShort(stack, MAX_STACK_CHARACTERS))
    throw new OddFrame('the stack of an error is no short text');
  return {
    fault: head === '?' ? 'input' : of === 'result' ? 'result' : 'code',
    message,
    ...(status !== undefined && { status }),
    ...(stack !== undefined && { stack }),
  };
}

const REASONS: Readonly<Record<number, RunFailure['why']>> = {
  [answers.timeout]: 'timeout',
  [answers.memory]: 'memory',
  [answers.thrown]: 'threw',
  [answers.unloaded]: 'unloaded',
};

/** `answer`: what kind of answer it is; undefined for code that was loaded. @throws OddFrame. */
export function failureOf(answer: number, text: string): RunFailure | undefined {
  if (answer === answers.result && text === '') return undefined;
  const why = REASONS[answer];
  if (why === undefined) throw new OddFrame('a failure has no reason');
  const { description, stack = '' } = objectOf(text);
  if (!isShort(description, 2 * MAX_MESSAGE_CHARACTERS) || !isShort(stack, MAX_STACK_CHARACTERS))
    throw new OddFrame('a failure has no short message');
  return { why, message: description, stack };
}

/** `depth`: that of the call under which it is asked; `left`: milliseconds that it has. @throws OddFrame. */
export function questionOf(text: string, depth: number, left: number): Question {
  const end = text.indexOf('\n');
  if (end < 0) throw new OddFrame('a question has no body');
  const asked = objectOf(text.slice(0, end));
  const { question, id, contentType } = asked;
  if (question !== 'find' && question !== 'call') throw new OddFrame('a question is of no kind');
  if (!isShort(id, MAX_ID_CHARACTERS) || !isShort(contentType, MAX_ID_CHARACTERS))
    throw new OddFrame('a question has no short id');
  const { depth: below, left: claimed } = asked;
  if (typeof below !== 'number' || !Number.isInteger(below) || below <= depth || below > MAX_DEPTH + 1)
    throw new OddFrame('a question is of another depth');
  if (typeof claimed !== 'number' || !(claimed >= 0)) throw new OddFrame('a question has no time');
  return { question, id, contentType, body: text.slice(end + 1), depth: below, left: Math.min(claimed, left) };
}

const LEVELS = ['info', 'warn', 'error', 'debug'] as const;
export type Level = (typeof LEVELS)[number];

/** @throws OddFrame. */
export function logLineOf(text: string): { level: Level; line: string } {
  const end = text.indexOf('\n');
  const said = text.slice(0, Math.max(0, end));
  const level = LEVELS.find((each) => each === said);
  if (level === undefined || text.length - end > MAX_LINE_CHARACTERS + 1)
    throw new OddFrame('a line for the log is of no level');
  return { level, line: text.slice(end + 1) };
}

/** @throws OddFrame. */
export function objectOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new OddFrame('a text is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new OddFrame('a text is no object');
  return value as Readonly<Record<string, unknown>>;
}

const isShort = (value: unknown, most: number): value is string => typeof value === 'string' && value.length <= most;
