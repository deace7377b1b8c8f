import { type ExclusiveWorkers, LargeBodies, Probation } from './exclusive-workers.ts';
import { SharedWorkers } from './shared-workers.ts';
import type { Worker } from './worker.ts';
import type { WorkerContext } from './worker-context.ts';

/** All workers of a pool. */
export class Workers {
  readonly shared: SharedWorkers;
  readonly probation: Probation;
  readonly large: LargeBodies;
  /** Those that do one piece of work at a time. */
  readonly exclusive: readonly ExclusiveWorkers[];

  /** `count`: of the shared workers. */
  constructor(context: WorkerContext, count: number, memoryMb: number) {
    this.probation = new Probation(context, memoryMb);
    this.shared = new SharedWorkers(context, count);
    this.large = new LargeBodies(context, memoryMb);
    this.exclusive = [this.probation.workers, ...this.large.workers];
  }

  /** It takes no further work but ends after what it has. Gives false where it did before. */
  detach(worker: Worker): boolean {
    if (this.exclusiveWith(worker) !== undefined) return false;
    this.shared.replace(worker);
    this.probation.attach(worker);
    return true;
  }

  get isIdle(): boolean {
    return this.shared.isIdle && this.exclusive.every((workers) => workers.size === 0);
  }

  all(): Worker[] {
    return [...this.shared.all(), ...this.exclusive.flatMap((workers) => [...workers.all()])];
  }

  /** Undefined for a shared worker. */
  exclusiveWith(worker: Worker): ExclusiveWorkers | undefined {
    return this.exclusive.find((workers) => workers.has(worker));
  }

  /** Those whose work should have ended, or begun. */
  overdue(now: number): Worker[] {
    return this.exclusive.flatMap((workers) => workers.overdue(now));
  }

  /** Those that have grown too large under their work. */
  tooLarge(): Worker[] {
    return this.exclusive.flatMap((workers) => workers.tooLarge());
  }

  /** Ends what nobody needs. */
  endUseless(now: number): void {
    this.shared.endUseless(now);
    for (const workers of this.exclusive) workers.endIdle(now);
  }
}
