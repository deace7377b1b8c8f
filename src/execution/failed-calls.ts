/**
 * Each failed call leaves a line in the log, so that operators and authors see where code fails. Of an endpoint that
 * fails again and again the first ones do, and of the others their number.
 */
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallTrace } from '../engines/engine.ts';
import { koKey } from '../knowledge-object/id.ts';
import { formatPlace } from '../lib/code-place.ts';
import { ServiceError } from '../lib/errors.ts';
import { FailureGroups } from './failure-groups.ts';
import { errorTypeIn, withoutInputs } from './without-inputs.ts';
import { traceNames } from './trace-names.ts';

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
