/**
 * The one place where what a program sends is parsed, whatever the program. The code in it may have taken it over, or may write to
 * its sockets: what has not the form that the program gives it is an `ProtocolError`, which ends that process.
 */
import type { CodePlace } from '../../lib/code-place.ts';
import { MAX_DEPTH } from '../call-headers.ts';
import { RESULT_HEAD } from '../records.ts';
import type { ResultLines } from '../records.ts';
import { ProtocolError } from './frames.ts';
import { answers, kinds, MAX_ID_CHARACTERS, MAX_MESSAGE_CHARACTERS, MAX_STACK_CHARACTERS } from './messages.ts';
import type { Failure, Question } from './messages.ts';

/** With the place that a program may put behind a message. */
const MAX_DESCRIPTION_CHARACTERS = MAX_MESSAGE_CHARACTERS + 500;
const MAX_LINE_CHARACTERS = 2000;
const MAX_FILE_CHARACTERS = 300;
/** Bytes in which any error fits, each of its characters escaped. */
const MAX_ERROR_BYTES = 6 * (MAX_MESSAGE_CHARACTERS + MAX_STACK_CHARACTERS) + 1000;
const MAX_LOG_BYTES = 3 * MAX_LINE_CHARACTERS + 100;

type AnswerName = keyof typeof answers;

/** Why a call or a load has no result. */
export interface ProgramFailure extends Failure {
  readonly kind: Exclude<AnswerName, 'result'>;
}

/** The JSON text of a result, which nobody reads on its way, or why there is none. */
export type Line = string | ProgramFailure;

/** Lines of results that follow each other, or one that holds none. */
export type RecordsLine = ResultLines | ProgramFailure;

const ofWorkers: ReadonlySet<number> = new Set([
  ...[kinds.answer, kinds.ask, kinds.ping, kinds.drain, kinds.fatal, kinds.lines],
]);

/** Bytes that the text of a frame of a worker may have. @throws ProtocolError for a kind that no worker sends. */
export function mostBytesOfWorker(kind: number, maxBytes: number): number {
  if (!ofWorkers.has(kind)) throw new ProtocolError(`a worker sends no frames of kind ${kind}`);
  return maxBytes;
}

/** Bytes that the text of a frame of a sandbox may have while so many calls are answered, or other code is called. @throws ProtocolError. */
export function mostBytesOfSandbox(kind: number, calls: number, maxResult: number): number {
  if (kind === kinds.results) return calls * (Math.max(maxResult, MAX_ERROR_BYTES) + 1);
  if (kind === kinds.lines) return calls * (Math.max(maxResult, MAX_ERROR_BYTES) + RESULT_HEAD.length + 2);
  if (kind === kinds.answer) return MAX_ERROR_BYTES;
  // The sandbox counts characters, the pipe bytes.
  if (kind === kinds.ask) return calls === 0 ? 0 : 3 * (maxResult + 3 * MAX_ID_CHARACTERS);
  if (kind === kinds.log) return MAX_LOG_BYTES;
  if (kind === kinds.ping || kind === kinds.begun) return 0;
  throw new ProtocolError(`there are no frames of kind ${kind}`);
}

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(answers).map(([name, answer]) => [answer, name]));

/** `answer`: what kind of answer it is. @throws ProtocolError. */
export function failureOf(answer: number, text: string): ProgramFailure {
  const kind = NAMES.get(answer) as AnswerName | undefined;
  if (kind === undefined || kind === 'result') throw new ProtocolError('a failure has no reason');
  const { description, status, place, stack, retire } = objectOf(text);
  if (typeof description !== 'string') throw new ProtocolError('a failure has no description');
  if (status !== undefined && status !== 400 && status !== 422) throw new ProtocolError('a failure has another status');
  if (stack !== undefined && !isShort(stack, MAX_STACK_CHARACTERS))
    throw new ProtocolError('the stack of a failure is no short text');
  const at = placeOf(place);
  return {
    kind: kind === 'invalid' && status === undefined ? 'thrown' : kind,
    description: description.slice(0, MAX_DESCRIPTION_CHARACTERS),
    ...(status !== undefined && { status }),
    ...(at && { place: at }),
    ...(stack !== undefined && { stack }),
    ...(retire === true && { retire }),
  };
}

function placeOf(said: unknown): CodePlace | undefined {
  if (typeof said !== 'object' || said === null) return undefined;
  const { file, line } = said as Readonly<Record<string, unknown>>;
  const isPath = isShort(file, MAX_FILE_CHARACTERS) && /^[^/\\\p{Cc}][^\\\p{Cc}]*$/u.test(file);
  return isPath && typeof line === 'number' && Number.isSafeInteger(line) && line > 0 ? { file, line } : undefined;
}

/** @throws ProtocolError unless there is one line for each call. */
export function linesOf(text: string, calls: number): Line[] {
  const lines = calls === 1 && !text.includes('\n') ? [text] : text.split('\n');
  if (lines.length !== calls) throw new ProtocolError(`${calls} calls have ${lines.length} answers`);
  return lines.map(lineOf);
}

function lineOf(line: string): Line {
  if (line === '') throw new ProtocolError('an answer is empty');
  return line.startsWith('!') ? failureOf(Number(line[1]), line.slice(2)) : line;
}

/**
 * `text`: a character for each byte, as of `RESULT_LINES`. `isChecked`: the code may have written it to the socket itself, and results
 * go into the answer as they are. @throws ProtocolError unless it has `least` to `most` lines.
 */
export function recordLinesOf(text: string, least: number, most: number, isChecked: boolean): RecordsLine[] {
  const found: RecordsLine[] = [];
  let [count, lines, from, at] = [0, 0, 0, 0];
  const endRun = (): void => {
    if (at > from) found.push({ lines: text.slice(from, at), count: lines });
    lines = 0;
  };
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    if (end < 0 || ++count > most) break;
    if (text.startsWith(RESULT_HEAD, at)) {
      if (isChecked) valueOf(text.slice(at, end));
      lines++;
    } else {
      endRun();
      const line = lineOf(Buffer.from(text.slice(at, end), 'latin1').toString('utf8'));
      if (typeof line === 'string') throw new ProtocolError('an answer is neither a result nor a failure');
      found.push(line);
      from = end + 1;
    }
    at = end + 1;
  }
  if (at < text.length || count < least) throw new ProtocolError(`answers to records are not as many as these`);
  endRun();
  return found;
}

export interface AskedQuestion extends Question {
  readonly body: string;
}

/** @throws ProtocolError. */
export function questionOf(text: string): AskedQuestion {
  const end = text.indexOf('\n');
  if (end < 0) throw new ProtocolError('a question has no body');
  const { what, id, contentType = '', depth = 0, left = Infinity } = objectOf(text.slice(0, end));
  if (what !== 'find' && what !== 'call' && what !== 'metadata') throw new ProtocolError('a question is of no kind');
  if (!isShort(id, MAX_ID_CHARACTERS) || !isShort(contentType, MAX_ID_CHARACTERS))
    throw new ProtocolError('a question has no short id');
  if (typeof depth !== 'number' || !Number.isInteger(depth)) throw new ProtocolError('a question has no depth');
  if (typeof left !== 'number' || !(left >= 0)) throw new ProtocolError('a question has no time');
  return { what, id, contentType, depth, left, body: text.slice(end + 1) };
}

/** A question by a call of that depth, or by one that this calls in the same process. @throws ProtocolError. */
export function nestedQuestionOf(text: string, depth: number, left: number): AskedQuestion {
  const question = questionOf(text);
  if (question.depth <= depth || question.depth > MAX_DEPTH + 1)
    throw new ProtocolError('a question is of another depth');
  return { ...question, left: Math.min(question.left, left) };
}

const LEVELS = ['info', 'warn', 'error', 'debug'] as const;
export type Level = (typeof LEVELS)[number];

/** @throws ProtocolError. */
export function logLineOf(text: string): { level: Level; line: string } {
  const end = text.indexOf('\n');
  const said = text.slice(0, Math.max(0, end));
  const level = LEVELS.find((each) => each === said);
  if (level === undefined || text.length - end > MAX_LINE_CHARACTERS + 1)
    throw new ProtocolError('a line for the log is of no level');
  return { level, line: text.slice(end + 1) };
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProtocolError('a text is not JSON');
  }
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  const value = valueOf(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProtocolError('a text is no object');
  return value as Readonly<Record<string, unknown>>;
}

const isShort = (value: unknown, most: number): value is string => typeof value === 'string' && value.length <= most;
