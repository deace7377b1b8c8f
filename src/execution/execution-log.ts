/** A line in the log for each call, where the operator asks for that; nothing of what was sent, unless he asks for that too. */
import type { Endpoint } from '../activation/endpoint.ts';
import type { CallTrace } from '../engines/engine.ts';
import { packageDigestOf } from '../shelf/package/package-content.ts';
import { factsOf } from './failed-calls.ts';

/** By which lines of the log about a call are found. */
export const traceNames = (trace: CallTrace | undefined): Omit<CallTrace, 'tracestate' | 'span'> | undefined =>
  trace && { requestId: trace.requestId, traceparent: trace.traceparent, executionId: trace.executionId };

/** The part of a log that this needs. */
export interface ExecutionLogTarget {
  info(facts: object, message: string): void;
  readonly level: string;
}

/** What is made for a line that nobody writes is lost. */
const SHOWS_INFO: ReadonlySet<string> = new Set(['trace', 'debug', 'info']);
/** Characters of an input in a line. */
const MOST_INPUT_CHARACTERS = 20_000;

/** Who called, where that has a name. */
interface Named {
  readonly who: string;
  readonly login: string;
}

export interface LoggedExecution {
  readonly endpoint: Endpoint;
  readonly trace: CallTrace | undefined;
  readonly caller: string | undefined;
  readonly named: Named | undefined;
  /** 0 for a client's call. */
  readonly depth: number;
  /** `done`, or the code of the error. */
  readonly outcome: string;
  readonly milliseconds: number;
  /** The body, as it was sent. */
  readonly input: string;
  /** JSON text. */
  readonly result: string | undefined;
}

/** Records that ran together. */
export interface LoggedRecords {
  readonly endpoint: Endpoint;
  readonly trace: CallTrace | undefined;
  readonly caller: string | undefined;
  readonly named: Named | undefined;
  readonly records: number;
  readonly failed: number;
  readonly milliseconds: number;
  /** Bytes. */
  readonly inputBytes: number;
  readonly inputs: () => string;
}

export class ExecutionLog {
  readonly #log: ExecutionLogTarget;
  readonly #withInputs: boolean;

  constructor(log: ExecutionLogTarget, withInputs: boolean) {
    this.#log = log;
    this.#withInputs = withInputs;
  }

  note({ endpoint, trace, caller, named, depth, outcome, milliseconds, input, result }: LoggedExecution): void {
    if (!SHOWS_INFO.has(this.#log.level)) return;
    this.#log.info(
      {
        event: 'execution',
        ...factsOf(endpoint),
        digest: packageDigestOf(endpoint.ko.entry),
        outcome,
        milliseconds: rounded(milliseconds),
        inputBytes: Buffer.byteLength(input),
        ...(result !== undefined && { resultBytes: Buffer.byteLength(result) }),
        ...traceNames(trace),
        remoteAddress: caller,
        ...named,
        ...(depth > 0 && { depth }),
        ...this.#inputs(() => input),
      },
      'a call ended',
    );
  }

  noteRecords({
    endpoint,
    trace,
    caller,
    named,
    records,
    failed,
    milliseconds,
    inputBytes,
    inputs,
  }: LoggedRecords): void {
    if (!SHOWS_INFO.has(this.#log.level)) return;
    this.#log.info(
      {
        event: 'execution',
        ...factsOf(endpoint),
        digest: packageDigestOf(endpoint.ko.entry),
        outcome: failed === 0 ? 'done' : failed === records ? 'failed' : 'done-in-part',
        records,
        failed,
        milliseconds: rounded(milliseconds),
        inputBytes,
        ...traceNames(trace),
        remoteAddress: caller,
        ...named,
        ...this.#inputs(inputs),
      },
      'records of a batch ended',
    );
  }

  #inputs(inputs: () => string): object {
    if (!this.#withInputs) return {};
    const text = inputs();
    const isCut = text.length > MOST_INPUT_CHARACTERS;
    return { inputs: isCut ? text.slice(0, MOST_INPUT_CHARACTERS) : text, ...(isCut && { inputsCut: true }) };
  }
}
const rounded = (milliseconds: number): number => Math.round(milliseconds * 1000) / 1000;
