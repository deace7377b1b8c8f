/** Counts the workers that are lost. */
import type { Tally } from '../../lib/tally.ts';
import type { Worker } from './worker.ts';

/** Why a worker is lost: it ended, could not be started, passed a limit, was kept busy by a call, or wrote too much. */
export const WORKER_LOSSES = ['ended', 'start-failed', 'timeout', 'blocked', 'memory', 'scratch', 'threads'] as const;
export type WorkerLoss = (typeof WORKER_LOSSES)[number];

/** Each worker is counted once, by what came first. */
export class WorkerLosses {
  readonly #counts: Tally<WorkerLoss>;
  readonly #counted = new WeakSet<Worker>();

  constructor(counts: Tally<WorkerLoss>) {
    this.#counts = counts;
  }

  add(worker: Worker, why: WorkerLoss): void {
    if (this.#counted.has(worker)) return;
    this.#counted.add(worker);
    this.#counts.add(why);
  }
}
