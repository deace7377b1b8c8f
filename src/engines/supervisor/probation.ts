/** Whose turn it is of the code that did not answer soon: one call at a time in each worker, at a lower priority. */
import { ExclusiveWorkers } from './exclusive-workers.ts';
import type { ExclusiveWorker } from './exclusive-workers.ts';
import type { Endpoint } from './endpoint.ts';
import type { Worker } from './worker.ts';
import type { WorkerContext } from './worker-context.ts';
import { callsAtOnce, mayBegin, priorityOf, QUARANTINE_PRIORITY } from './policy.ts';
import type { Work } from './work.ts';

export class Probation {
  readonly workers: ExclusiveWorkers;
  readonly #context: WorkerContext;
  /** Endpoints that have calls that wait, in the order of their turns. */
  readonly #waiting = new Set<Endpoint>();
  /** Of endpoints that ended a sandbox before. */
  #loads: Work[] = [];

  constructor(context: WorkerContext, memoryMb: number) {
    this.#context = context;
    this.workers = new ExclusiveWorkers(context, memoryMb);
  }

  offer(endpoint: Endpoint): void {
    this.#waiting.add(endpoint);
  }

  offerLoad(work: Work): void {
    this.#loads.push(work);
  }

  attach(worker: Worker): void {
    this.workers.attach(worker, QUARANTINE_PRIORITY);
  }

  /** Takes away the loads that wait for a process. */
  takeLoads(): Work[] {
    return this.#loads.splice(0);
  }

  /** A load that may begin, and the process for it. */
  nextLoad(): { exclusive: ExclusiveWorker; work: Work } | undefined {
    for (const work of this.#loads) {
      const exclusive = this.#workerFor(work.endpoint);
      if (exclusive === undefined) continue;
      this.#loads = this.#loads.filter((each) => each !== work);
      return { exclusive, work };
    }
    return undefined;
  }

  /** An endpoint whose next call may begin, and the process for it. It goes to the end of the line. */
  nextCall(): { exclusive: ExclusiveWorker; endpoint: Endpoint } | undefined {
    for (const endpoint of [...this.#waiting]) {
      if (!endpoint.quarantined || !endpoint.hasCalls()) this.#waiting.delete(endpoint);
      else if (this.workers.running(endpoint) < callsAtOnce(this.#context.policy)) {
        const exclusive = this.#workerFor(endpoint);
        if (exclusive === undefined) continue;
        this.#waiting.delete(endpoint);
        this.#waiting.add(endpoint);
        return { exclusive, endpoint };
      }
    }
    return undefined;
  }

  /** A process for work that may begin. Where none is free, one is started and the work waits: no call pays for that with its time. */
  #workerFor(endpoint: Endpoint): ExclusiveWorker | undefined {
    const { policy } = this.#context;
    if (!this.#mayBegin()) return undefined;
    const priority = priorityOf(endpoint);
    const free = this.workers.idling(priority);
    const ready = free.find(({ worker }) => worker.ready);
    if (ready !== undefined) return ready;
    const wanted = [...this.#waiting, ...this.#loads.map((work) => work.endpoint)].filter(
      (each) => priorityOf(each) === priority,
    );
    if (free.length < Math.min(policy.quarantineRunning, Math.max(1, wanted.length))) this.workers.start(priority);
    return undefined;
  }

  #mayBegin(): boolean {
    const busy = this.workers.busy();
    const running = busy.filter(({ worker }) => !worker.isWaiting);
    return mayBegin({ busy: busy.length, running: running.length }, this.#context.policy);
  }
}
