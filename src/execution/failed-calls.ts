/**
 * Each failed call leaves a line in the log, so that operators and authors see where code fails. Of an endpoint that
 * fails again and again the first ones do, and of the others their number.
 */
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallTrace } from '../engines/engine.ts';
import { koKey } from '../knowledge-object/id.ts';
import { formatPlace } from '../lib/code-place.ts';
import { ServiceError } from '../lib/errors.ts';
import { traceNames } from './execution-log.ts';
import { FailureGroups } from './failure-groups.ts';

/** The part of a log that this needs. */
export interface CallLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** Lines for an endpoint … */
const MOST_LINES = 20;
/** … in so many milliseconds. */
const PERIOD_MS = 10_000;
/** As many as the log takes of a message that is masked. */
const MAX_MESSAGE_CHARACTERS = 300;

export interface FailedCall {
  readonly endpoint: Endpoint;
  readonly trace: CallTrace | undefined;
  /** The body. */
  readonly input: string;
  readonly json: boolean;
}

/** What the log and the groups may tell beside the type of an error and its place. */
export interface Tells {
  /** What is said of an input by who refuses it: in the groups; the log of each execution has it anyway. */
  readonly inputs?: boolean;
  /** What errors of code say, but for what it has in common with the input. */
  readonly messages?: boolean;
}

/** Errors whose messages are words of the code, and what is said in their place. */
const OF_CODE: ReadonlyMap<string, string> = new Map([
  ['code-error', 'the code failed'],
  ['invalid-result', 'the result cannot be written as JSON, or is too large'],
  ['process-ended', 'the process of the code ended'],
  ['execution-failed', 'the call failed'],
]);

/** Undefined for messages of the service itself. */
function withoutWordsOfCode({ code, message }: ServiceError): string | undefined {
  const words = OF_CODE.get(code);
  const type = errorTypeIn(message);
  return words === undefined || type === undefined ? words : `${words}: ${type}`;
}

interface Count {
  failed: number;
  readonly endpoint: Endpoint;
}

export class FailedCalls implements Disposable {
  readonly #log: CallLog;
  readonly #tells: Tells;
  /** Those that are alike together, also beyond the measure of lines. */
  readonly groups: FailureGroups;
  #counts = new Map<string, Count>();
  #timer: NodeJS.Timeout | undefined;

  constructor(log: CallLog, tells: Tells = {}, groups = new FailureGroups()) {
    this.groups = groups;
    this.#log = log;
    this.#tells = tells;
  }

  /** For an error that is the service's own fault, its cause is logged where it becomes an answer. */
  note(thrown: unknown, call: FailedCall): void {
    const { endpoint, trace, input, json } = call;
    const isOurs = thrown instanceof ServiceError;
    const isRefused = isOurs && thrown.status < 500;
    const isNotActive = isRefused && thrown.code === 'endpoint-not-active';
    const isInputs = isRefused && !isNotActive;
    // What HTTP refuses is the caller's, and hears of it.
    if (isRefused && thrown.code !== 'invalid-input' && !isNotActive) return;
    if (isOurs) thrown.isLogged = true;
    const { inputs = false, messages = false } = this.#tells;
    const words = (): string => {
      if (!isOurs) return 'the service failed to run a call';
      const withoutMessage = messages ? undefined : withoutWordsOfCode(thrown);
      return withoutMessage ?? withoutInputs(thrown.message, input, json);
    };
    const ofInput = isInputs && inputs ? thrown.message.slice(0, MAX_MESSAGE_CHARACTERS) : undefined;
    this.groups.note(thrown, endpoint, trace, isInputs ? () => ofInput : words);
    if (!this.#mayLog(endpoint)) return;
    const facts = {
      event: 'call-failed',
      ...factsOf(endpoint),
      ...(isOurs ? { code: thrown.code, status: thrown.status } : {}),
      ...(isOurs && thrown.place !== undefined ? { place: formatPlace(thrown.place) } : {}),
      ...traceNames(trace),
    };
    // Its message is about the values.
    if (isInputs) this.#log.info(facts, 'a call had an input that its knowledge object refuses');
    else this.#log.warn(facts, words());
  }

  /** Tells what is not told yet. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = this.#counts;
    this.#counts = new Map();
    for (const { failed, endpoint } of counts.values()) {
      const more = failed - MOST_LINES;
      if (more > 0)
        this.#log.warn(
          { event: 'calls-failed', ...factsOf(endpoint), more },
          `${more} more calls failed within ${PERIOD_MS / 1000} s`,
        );
    }
  }

  #mayLog(endpoint: Endpoint): boolean {
    let count = this.#counts.get(endpoint.id);
    if (count === undefined) this.#counts.set(endpoint.id, (count = { failed: 0, endpoint }));
    this.#timer ??= setTimeout(() => this[Symbol.dispose](), PERIOD_MS).unref();
    return ++count.failed <= MOST_LINES;
  }
}

export const factsOf = ({ id, ko, entry }: Endpoint): Record<string, string> => ({
  ko: koKey(ko.id),
  endpoint: id,
  engine: entry.engine,
});

/**
 * "Never the patient's data": an error of code may quote what it was given, and its message goes to the log. What it has
 * in common with the input is left out of it.
 */

const MAX_CHARACTERS = 300;
/** Characters of an input that is looked through. */
const MAX_INPUT_CHARACTERS = 64 * 1024;
const MOST_VALUES = 2000;
const MASK = '…';
/** Shorter ones say nothing of anybody, and are in every sentence. */
const MIN_CHARACTERS = 2;

const PREFIX = /^Code execution error: /;

/** The first line of the message, without the values of the input. */
export function withoutInputs(message: string, input: string, json: boolean): string {
  const line =
    message
      .replace(PREFIX, '')
      .slice(0, MAX_CHARACTERS * 2)
      .split('\n', 1)[0] ?? '';
  const kind = kindOf(line);
  if (input.length > MAX_INPUT_CHARACTERS) return kind + MASK;
  const rest = line.slice(kind.length);
  const values = json ? valuesOf(input) : undefined;
  const masked = values === undefined ? maskWords(rest, input) : maskQuotes(maskValues(rest, values), input);
  return (kind + masked).slice(0, MAX_CHARACTERS);
}

/** Such as `TypeError`, of a message that begins with it. */
const errorTypeIn = (message: string): string | undefined =>
  /^[A-Za-z]{0,55}(?:Error|Exception)(?=: |$)/.exec(message.replace(PREFIX, ''))?.[0];

/** Such as `TypeError: `. */
function kindOf(line: string): string {
  const word = /^[A-Za-z]{1,60}: /.exec(line)?.[0] ?? '';
  return /(?:Error|Exception): $/.test(word) ? word : '';
}

/** Undefined where the input is no JSON. */
function valuesOf(input: string): Set<string> | undefined {
  const values = new Set<string>();
  const waiting: unknown[] = [];
  try {
    waiting.push(JSON.parse(input));
  } catch {
    return undefined;
  }
  while (waiting.length > 0 && values.size < MOST_VALUES) {
    const value = waiting.pop();
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) waiting.push(each);
    else if (typeof value === 'string' || typeof value === 'number') values.add(String(value).trim());
  }
  return values;
}

/** Longer values first, since one may hold another. */
function maskValues(text: string, values: ReadonlySet<string>): string {
  let masked = text;
  for (const value of [...values].sort((a, b) => b.length - a.length)) {
    if (value.length < MIN_CHARACTERS) continue;
    for (let at = masked.indexOf(value); at >= 0; at = masked.indexOf(value, at + MASK.length)) {
      const end = at + value.length;
      const within = isWord(masked[at - 1]) || isWord(masked[end]);
      if (!within) masked = masked.slice(0, at) + MASK + masked.slice(end);
    }
  }
  return masked;
}

/** Parts of the input, such as `JSON.parse` quotes, but not the names of its fields. */
function maskQuotes(text: string, input: string): string {
  return text.replace(/"[^"]{2,}"|'[^']{2,}'|`[^`]{2,}`/g, (quoted) => {
    const part = quoted.slice(1, -1).replaceAll('...', '').replaceAll(MASK, '');
    const isPart = part.length >= MIN_CHARACTERS && input.includes(part) && !input.includes(`"${part}":`);
    return isPart ? quoted.charAt(0) + MASK + quoted.charAt(0) : quoted;
  });
}

/** For an input of which nobody knows what in it is a value. */
const maskWords = (text: string, input: string): string =>
  text.replace(/[\p{L}\p{N}_]{2,}/gu, (word) => (input.includes(word) ? MASK : word));

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
