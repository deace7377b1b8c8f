/**
 * Which knowledge objects share processes: all of them, those of one naan, or none. Each group has processes of its own.
 * Not all groups can have them at a time: one that is idle is ended where another needs its place, and where none is idle,
 * calls wait in one line.
 */
import type { KoId } from '../../knowledge-object/id.ts';
import { overloaded } from '../../lib/errors.ts';
import { ending } from '../supervisor/answers.ts';
import type { Clock } from '../supervisor/clock.ts';

export const ISOLATIONS = ['shared', 'naan', 'ko'] as const;
export type Isolation = (typeof ISOLATIONS)[number];

/** Groups that may have processes at a time. */
export const mostGroups = (cores: number): number => Math.max(8, 4 * cores);

/** Milliseconds that a group has its place for while others wait for one; then its next calls wait too. */
const TURN_MS = 1000;
/** Between two looks at the line. */
const TICK_MS = 100;

const KEYS: Readonly<Record<Isolation, (ko: KoId) => string>> = {
  shared: () => '',
  naan: ({ naan }) => naan,
  ko: ({ naan, name, version }) => `${naan}/${name}/${version}`,
};

/** How a call waits for the processes of its group. */
export interface Wait {
  /** Of the endpoint. */
  readonly id: string;
  /** Milliseconds of the clock by which it must have its turn. */
  readonly by: number;
  /**
   * It is made by another call, which keeps its own processes meanwhile: where each waited for another, none would end. So
   * it never waits: groups begin for such calls beyond the bound, up to twice as many, and then it is refused.
   */
  readonly isNested: boolean;
}

export interface ProcessGroupsOptions<G extends Disposable> {
  readonly isolation: Isolation;
  readonly most: number;
  /** Calls of one group that may wait. */
  readonly queueLimit: number;
  readonly clock: Clock;
  /** Gives the processes of a group. */
  readonly open: (key: string) => G;
}

interface RunningGroup<G> {
  readonly processes: G;
  /** Calls that have not ended. */
  users: number;
  /** Milliseconds of the clock at which it got its place, or its next turn. */
  since: number;
}

interface Waiting<G> extends Wait {
  readonly key: string;
  readonly resolve: (processes: G) => void;
  readonly reject: (error: Error) => void;
}

export class ProcessGroups<G extends Disposable> implements Disposable {
  /** The only group, where all knowledge objects share one. */
  readonly shared: G | undefined;
  readonly #options: ProcessGroupsOptions<G>;
  /** In the order of their last use. */
  readonly #running = new Map<string, RunningGroup<G>>();
  #line: Waiting<G>[] = [];
  #stopTicking: (() => void) | undefined;
  #isClosed = false;

  constructor(options: ProcessGroupsOptions<G>) {
    this.#options = options;
    if (options.isolation === 'shared') this.shared = this.#open('').processes;
  }

  keyOf(ko: KoId): string {
    return KEYS[this.#options.isolation](ko);
  }

  /** Undefined where the group has no processes. */
  get(key: string): G | undefined {
    return this.#running.get(key)?.processes;
  }

  all(): G[] {
    return [...this.#running.values()].map(({ processes }) => processes);
  }

  /** Calls that wait for a place. */
  get waiting(): number {
    return this.#line.length;
  }

  /** Uses the processes of a group, once it has some. @throws ServiceError overloaded, where it gets none in time. */
  async run<T>(key: string, wait: Wait, use: (processes: G) => T | Promise<T>): Promise<T> {
    const processes = await this.take(key, wait);
    try {
      return await use(processes);
    } finally {
      this.release(key);
    }
  }

  /** Gives the processes of a group, which stay until they are released. @throws ServiceError overloaded. */
  take(key: string, wait: Wait): G | Promise<G> {
    if (this.#isClosed) throw ending();
    const running = this.#running.get(key);
    if (running !== undefined && (wait.isNested || !this.#mustMakeWay(running))) return this.#use(key, running);
    const { most, queueLimit, clock } = this.#options;
    const mayOpen = wait.isNested
      ? this.#endIdle(most - 1) || this.#running.size < 2 * most
      : this.#line.length === 0 && this.#endIdle(most - 1);
    if (mayOpen) return this.#use(key, this.#open(key));
    if (wait.isNested) throw noPlace(wait);
    if (this.#line.filter((each) => each.key === key).length >= queueLimit)
      throw overloaded(`${queueLimit} calls wait for the processes of ${wait.id} already; try again later`);
    return new Promise((resolve, reject) => {
      this.#line.push({ ...wait, key, resolve, reject });
      this.#stopTicking ??= clock.every(TICK_MS, () => this.#tick());
    });
  }

  /** A call has ended. */
  release(key: string): void {
    const running = this.#running.get(key);
    if (running === undefined) return;
    running.users--;
    // It is the one that was used last.
    this.#running.delete(key);
    this.#running.set(key, running);
    this.#endIdle(this.#options.most);
    this.#giveOut();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#stopTicking?.();
    for (const { reject } of this.#line.splice(0)) reject(ending());
    for (const processes of this.all()) processes[Symbol.dispose]();
  }

  #open(key: string): RunningGroup<G> {
    const { open, clock } = this.#options;
    const running = { processes: open(key), users: 0, since: clock.now() };
    this.#running.set(key, running);
    return running;
  }

  #use(key: string, running: RunningGroup<G>): G {
    running.users++;
    return running.processes;
  }

  /** Others wait, and it had its turn. */
  #mustMakeWay({ since }: RunningGroup<G>): boolean {
    return this.#line.length > 0 && this.#options.clock.now() - since > TURN_MS;
  }

  /** Ends groups that are idle until no more than so many are left; says whether that is so. */
  #endIdle(most: number): boolean {
    for (const [key, { users, processes }] of this.#running) {
      if (this.#running.size <= most) break;
      if (users > 0) continue;
      this.#running.delete(key);
      processes[Symbol.dispose]();
    }
    return this.#running.size <= most;
  }

  /** Begins what is first in the line, and all that waits for the same group. */
  #giveOut(): void {
    for (let next = this.#line[0]; next !== undefined; next = this.#line[0]) {
      const { key } = next;
      let running = this.#running.get(key);
      if (running === undefined && !this.#endIdle(this.#options.most - 1)) return;
      running ??= this.#open(key);
      running.since = this.#options.clock.now();
      const others: Waiting<G>[] = [];
      for (const waiting of this.#line) {
        if (waiting.key === key) waiting.resolve(this.#use(key, running));
        else others.push(waiting);
      }
      this.#line = others;
    }
  }

  #tick(): void {
    const now = this.#options.clock.now();
    const late = this.#line.filter(({ by }) => by <= now);
    this.#line = this.#line.filter(({ by }) => by > now);
    for (const waiting of late) waiting.reject(noPlace(waiting));
    this.#giveOut();
    if (this.#line.length > 0) return;
    this.#stopTicking?.();
    this.#stopTicking = undefined;
  }
}

const noPlace = ({ id }: Wait): Error =>
  overloaded(`the processes of other knowledge objects left no place for those of ${id}; try again later`);
