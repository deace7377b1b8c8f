/** What is counted of batches, whatever protocol they come by. */
import { Tally } from '../../lib/tally.ts';
import type { BatchTotals, RecordBatch } from './run-records.ts';

/** How a batch ended. */
export type BatchOutcome = 'done' | 'client-gone' | 'broken-off';

export interface BatchFigures {
  readonly running: number;
  /** By outcome, since the start. */
  readonly batches: Iterable<readonly [outcome: string, count: number]>;
  readonly records: Iterable<readonly [outcome: string, count: number]>;
}

export class BatchCounts {
  readonly #running = new Set<RecordBatch>();
  readonly #ended = new Tally<BatchOutcome>(['done', 'client-gone', 'broken-off']);
  readonly #records = new Tally<string>(['done', 'failed']);

  begin(batch: RecordBatch): void {
    this.#running.add(batch);
  }

  end(batch: RecordBatch, outcome: BatchOutcome): void {
    this.#running.delete(batch);
    this.#ended.add(outcome);
    addTotals(this.#records, batch.totals);
  }

  /** Records count as soon as they are answered. */
  figures(): BatchFigures {
    const records = new Tally<string>(['done', 'failed']);
    for (const [outcome, count] of this.#records) records.add(outcome, count);
    for (const { totals } of this.#running) addTotals(records, totals);
    return { running: this.#running.size, batches: this.#ended, records };
  }
}

function addTotals(records: Tally<string>, { records: all, failed }: BatchTotals): void {
  records.add('done', all - failed);
  records.add('failed', failed);
}
