/**
 * Runs records of one endpoint in workers: several in one piece of work, one piece after the other. Where a worker ends
 * under them, those that had no answer yet run alone, so that each is told only of what it did itself.
 */
import type { Call, RecordsCall } from '../engine.ts';
import { oneByOne } from '../one-by-one.ts';
import { divide, recordAt } from '../records.ts';
import type { RecordBlock, RecordsPart } from '../records.ts';
import type { WorkerPolicy } from './worker-policy.ts';

export interface ChunkOutcome {
  /** In their order: all, or those before what ended the worker or passed the limit. */
  readonly answered: readonly RecordsPart[];
  /** Why the others have none. */
  readonly problem?: Error;
}

export interface RecordChunksParts {
  /** `limitMs`: for all of them; that of one call where it is left out. */
  readonly run: (records: RecordBlock, call: RecordsCall, limitMs?: number) => Promise<ChunkOutcome>;
  /** Runs one record. */
  readonly execute: (call: Call) => Promise<string>;
  /** Whether what a call failed with may be the fault of others beside it. */
  readonly isOfOthers: (error: Error) => boolean;
  /** Milliseconds. */
  readonly now: () => number;
  readonly policy: WorkerPolicy;
}

export class RecordChunks {
  readonly #parts: RecordChunksParts;
  /** Milliseconds that one is expected to take. */
  #mean: number | undefined;
  #slowUntil = 0;
  /** Settles with the last of what runs with nothing beside it. */
  #last: Promise<unknown> = Promise.resolve();
  /** What runs beside each other. */
  readonly #beside = new Set<Promise<unknown>>();

  constructor(parts: RecordChunksParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async run(call: RecordsCall): Promise<readonly RecordsPart[]> {
    const answered: RecordsPart[] = [];
    for (let left: RecordBlock | undefined = call.records; left !== undefined;) {
      if (this.#parts.now() < this.#slowUntil) return [...answered, ...(await this.#runBeside(left, call))];
      const rest: RecordBlock = left;
      const [parts, others] = await this.#runAlone(() => this.#runChunk(rest, call));
      answered.push(...parts);
      left = others;
    }
    return answered;
  }

  /** The answers to the first of them, and the others. */
  async #runChunk(records: RecordBlock, call: RecordsCall): Promise<[readonly RecordsPart[], RecordBlock | undefined]> {
    const { run, now, policy } = this.#parts;
    const mean = this.#mean;
    const size = mean === undefined ? 1 : Math.min(policy.chunkRecords, Math.max(1, Math.floor(policy.chunkMs / mean)));
    const [chunk, rest] = divide(records, size);
    const began = now();
    const { answered, problem } = await run(chunk, call, chunk.count > 1 ? policy.chunkLimitMs : undefined);
    if (problem === undefined) {
      this.#learn((now() - began) / chunk.count);
      return [answered, rest];
    }
    this.#mean = undefined;
    if (chunk.count === 1) return [[problem], rest];
    const count = answered.reduce((sum, part) => sum + (part instanceof Error ? 1 : part.count), 0);
    const [, others] = count === 0 ? [undefined, chunk] : divide(chunk, count);
    return [others === undefined ? answered : [...answered, ...(await this.#apart(others, call, 1))], rest];
  }

  #learn(each: number): void {
    const { now, policy } = this.#parts;
    // The first one may have started a worker.
    if (this.#mean === undefined) this.#mean = Math.min(each, policy.slowRecordMs);
    else if (each > policy.slowRecordMs) {
      this.#slowUntil = now() + policy.slowForMs;
      this.#mean = undefined;
    } else this.#mean = this.#mean * 0.7 + each * 0.3;
  }

  /** Code that waits may do so for many at once. */
  async #runBeside(records: RecordBlock, call: RecordsCall): Promise<readonly RecordsPart[]> {
    const parts = await this.#besideOthers(() => this.#apart(records, call));
    for (const [at, part] of parts.entries()) {
      if (!(part instanceof Error) || !this.#parts.isOfOthers(part)) continue;
      const [again] = await this.#runAlone(() => this.#apart(recordAt(records, at), call));
      if (again !== undefined) parts[at] = again;
    }
    return parts;
  }

  /** Each as a call of its own. */
  #apart(records: RecordBlock, call: RecordsCall, atOnce?: number): Promise<RecordsPart[]> {
    const { scope, trace, caller, signal } = call;
    const common = { depth: 0, deadline: Infinity, scope, trace, caller, signal };
    return oneByOne(records, common, (each) => this.#parts.execute(each), atOnce);
  }

  /** Of what runs alone it is known what it does. */
  #runAlone<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#last.then(() => Promise.allSettled(this.#beside)).then(step);
    this.#last = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  async #besideOthers<T>(step: () => Promise<T>): Promise<T> {
    for (let last: unknown; last !== this.#last;) {
      last = this.#last;
      await last;
    }
    const done = step();
    this.#beside.add(done);
    return done.finally(() => this.#beside.delete(done));
  }
}
