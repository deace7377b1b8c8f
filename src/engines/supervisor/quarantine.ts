/** Whose turn it is of the code that did not answer soon: one call at a time in each process, at a lower priority. */
import { DedicatedLanes } from './dedicated-lanes.ts';
import type { DedicatedLane } from './dedicated-lanes.ts';
import type { Endpoint } from './endpoint.ts';
import type { Lane } from './lane.ts';
import type { LaneContext } from './lane-context.ts';
import { callsAtOnce, mayBegin, priorityOf, QUARANTINE_PRIORITY } from './policy.ts';
import type { Work } from './work.ts';

export class Quarantine {
  readonly lanes: DedicatedLanes;
  readonly #context: LaneContext;
  /** Endpoints that have calls that wait, in the order of their turns. */
  readonly #waiting = new Set<Endpoint>();
  /** Of endpoints that ended a sandbox before. */
  #loads: Work[] = [];

  constructor(context: LaneContext, memoryMb: number) {
    this.#context = context;
    this.lanes = new DedicatedLanes(context, memoryMb);
  }

  offer(endpoint: Endpoint): void {
    this.#waiting.add(endpoint);
  }

  offerLoad(work: Work): void {
    this.#loads.push(work);
  }

  adopt(lane: Lane): void {
    this.lanes.adopt(lane, QUARANTINE_PRIORITY);
  }

  /** Takes away the loads that wait for a process. */
  takeLoads(): Work[] {
    return this.#loads.splice(0);
  }

  /** A load that may begin, and the process for it. */
  nextLoad(): { dedicated: DedicatedLane; work: Work } | undefined {
    for (const work of this.#loads) {
      const dedicated = this.#laneFor(work.endpoint);
      if (dedicated === undefined) continue;
      this.#loads = this.#loads.filter((each) => each !== work);
      return { dedicated, work };
    }
    return undefined;
  }

  /** An endpoint whose next call may begin, and the process for it. It goes to the end of the line. */
  nextCall(): { dedicated: DedicatedLane; endpoint: Endpoint } | undefined {
    for (const endpoint of [...this.#waiting]) {
      if (!endpoint.quarantined || !endpoint.hasCalls()) this.#waiting.delete(endpoint);
      else if (this.lanes.running(endpoint) < callsAtOnce(this.#context.policy)) {
        const dedicated = this.#laneFor(endpoint);
        if (dedicated === undefined) continue;
        this.#waiting.delete(endpoint);
        this.#waiting.add(endpoint);
        return { dedicated, endpoint };
      }
    }
    return undefined;
  }

  /** A process for work that may begin. Where none is free, one is started and the work waits: no call pays for that with its time. */
  #laneFor(endpoint: Endpoint): DedicatedLane | undefined {
    const { policy } = this.#context;
    if (!this.#mayBegin()) return undefined;
    const priority = priorityOf(endpoint);
    const free = this.lanes.idling(priority);
    const ready = free.find(({ lane }) => lane.ready);
    if (ready !== undefined) return ready;
    const wanted = [...this.#waiting, ...this.#loads.map((work) => work.endpoint)].filter(
      (each) => priorityOf(each) === priority,
    );
    if (free.length < Math.min(policy.quarantineRunning, Math.max(1, wanted.length))) this.lanes.start(priority);
    return undefined;
  }

  #mayBegin(): boolean {
    const busy = this.lanes.busy();
    const running = busy.filter(({ lane }) => !lane.isWaiting);
    return mayBegin({ busy: busy.length, running: running.length }, this.#context.policy);
  }
}
