/** What waits for a worker of one knowledge object: loads first, then calls in the order they came. */
import { Work } from './work.ts';
import { hadNoTurn, isAbandoned, isStopping, loadPassedLimit } from './call-failure.ts';
import type { WorkerCall, WorkerEndpoint, WorkerWork } from './worker-call.ts';
import { hasEnded } from './settle-work.ts';

export class Waiting {
  readonly #ko: string;
  readonly #loads: WorkerWork[] = [];
  readonly #calls: WorkerCall[] = [];

  /** `ko`: for whoever had no turn. */
  constructor(ko: string) {
    this.#ko = ko;
  }

  get calls(): number {
    return this.#calls.length;
  }

  get isNothing(): boolean {
    return this.#loads.length + this.#calls.length === 0;
  }

  /** `until`: milliseconds of the clock by which it must have ended. `loaded` hears why it cannot be loaded. */
  addLoad(endpoint: WorkerEndpoint, until: number, loaded: (problem: string) => void): void {
    const load: WorkerWork = Work.ofLoad<WorkerEndpoint, WorkerCall>(endpoint, loaded);
    load.awaitTurn(until);
    this.#loads.push(load);
  }

  addCall(call: WorkerCall): void {
    this.#calls.push(call);
  }

  /** The next work; undefined where there is none that anybody waits for. `nestedOnly`: calls of clients stay. */
  take(nestedOnly: boolean): WorkerWork | undefined {
    const load = this.#loads.shift();
    if (load !== undefined) return load;
    for (;;) {
      const at = nestedOnly ? this.#calls.findIndex(({ depth }) => depth > 0) : 0;
      const [call] = at < 0 ? [] : this.#calls.splice(at, 1);
      if (call === undefined) return undefined;
      if (!call.isAbandoned) return Work.ofCalls(call.endpoint, [call]);
      call.giveUp(isAbandoned());
    }
  }

  /** Work that had not begun comes first again. */
  putBack(works: readonly WorkerWork[]): void {
    const calls: WorkerCall[] = [];
    const loads: WorkerWork[] = [];
    for (const work of works) {
      if (hasEnded(work)) continue;
      if (work.kind === 'load') {
        work.waitAgain(false);
        loads.push(work);
      } else calls.push(...work.requeue());
    }
    this.#loads.unshift(...loads);
    this.#calls.unshift(...calls);
  }

  /** Ends what waited for too long, or for nobody. `problem`: why no worker can be started. */
  expire(now: number, problem: string | undefined): void {
    for (const call of this.#calls.filter((each) => each.beginBy <= now || each.isAbandoned)) {
      this.#calls.splice(this.#calls.indexOf(call), 1);
      call.giveUp(call.isAbandoned ? isAbandoned() : hadNoTurn(this.#ko, call.limitMs, problem));
    }
    for (const load of this.#loads.filter(({ deadline }) => deadline <= now)) {
      this.#loads.splice(this.#loads.indexOf(load), 1);
      load.endLoad(problem ?? loadPassedLimit(load.endpoint.limit));
    }
  }

  failLoads(problem: string): void {
    for (const load of this.#loads.splice(0)) load.endLoad(problem);
  }

  stop(): void {
    this.failLoads(isStopping().message);
    for (const call of this.#calls.splice(0)) call.giveUp(isStopping());
  }
}
