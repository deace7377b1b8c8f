/** A call on its way to a worker, and the endpoint that it calls. */
import { Counts, PendingCall } from './pending-call.ts';
import type { CalledEndpoint, CallParts } from './pending-call.ts';
import type { Work } from './work.ts';
import type { RecordsPart } from '../records.ts';
import type { EndpointCode } from './adapter.ts';

/** An endpoint of a knowledge object, as its workers know it. */
export class WorkerEndpoint implements CalledEndpoint {
  readonly counts = new Counts();
  /** By which workers know it. */
  readonly index: number;
  /** Milliseconds that loading it may take, and a call where its caller sets no other limit. */
  readonly limit: number;
  code: EndpointCode;

  constructor(index: number, code: EndpointCode, limit: number) {
    this.index = index;
    this.code = code;
    this.limit = limit;
  }
}

/** Where a call is some records: hears of what came of the next of them, as it comes. */
export interface RecordsSink {
  readonly count: number;
  take(parts: readonly RecordsPart[]): void;
}

export interface WorkerCallParts extends Omit<CallParts, 'beginBy' | 'caller' | 'records'> {
  /** The input is JSON; else it is text. */
  readonly json: boolean;
  /** The input is the text of a block of them; when all are answered, an empty text resolves it. */
  readonly sink?: RecordsSink;
}

export class WorkerCall extends PendingCall<WorkerEndpoint> {
  readonly json: boolean;
  readonly sink: RecordsSink | undefined;
  /** Records of it that have no answer. */
  left: number;
  /** Milliseconds that it had when it came, for whoever is told that they were not enough. */
  readonly limitMs: number;

  /** Its time runs from now on, also while it waits. */
  constructor(endpoint: WorkerEndpoint, parts: WorkerCallParts, now: number) {
    super(endpoint, { ...parts, beginBy: parts.deadline, caller: '' });
    this.json = parts.json;
    this.sink = parts.sink;
    this.left = parts.sink?.count ?? 0;
    this.limitMs = parts.deadline - now;
  }
}

/** One call, or the load of an endpoint. */
export type WorkerWork = Work<WorkerEndpoint, WorkerCall>;
