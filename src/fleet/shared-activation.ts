/**
 * The activation that all nodes make together: who asks for a change writes it to the database, and each node, the one
 * that was asked included, makes the changes of the database in their order.
 */
import type { Change } from '../activation/activator.ts';
import type { About, ChangeOutcome } from '../activation/selection.ts';
import { messageOf, outcomeUnknown, ServiceError } from '../lib/errors.ts';
import { FairQueue } from '../lib/fair-queue.ts';
import type { ChangeAuthor } from '../shelf/change-author.ts';
import { type Activation, type ActiveTable, namesOf } from './active-table.ts';
import type { SharedKos } from './shared-kos.ts';

export interface SharedActivationOptions {
  readonly table: ActiveTable;
  readonly kos: SharedKos;
  /** Makes a change of this node's endpoints. */
  readonly apply: (change: Change, about: About) => Promise<ChangeOutcome>;
  /** Tells the others how far this node is, and that there may be something to follow. */
  readonly reached: (generation: number) => void;
  /** Resolves when all nodes that live have made the changes up to a generation, or after a bounded time. */
  readonly whenAllReached: (generation: number) => Promise<void>;
  /** Hears why a change could not be made here; it is tried again. */
  readonly onProblem: (cause: unknown) => void;
}

/** A node that has missed more changes than that reads all anew at once. */
const MOST_ONE_BY_ONE = 50;
/** Milliseconds until a change that failed here is tried again. */
const TRIED_AGAIN_AFTER_MS = 1000;
/** Outcomes of changes that are kept for who asked for them. */
const KEPT_OUTCOMES = 64;

export class SharedActivation implements Disposable {
  readonly #options: SharedActivationOptions;
  readonly #queue = new FairQueue({ perKey: 1 });
  readonly #outcomes = new Map<number, Promise<ChangeOutcome>>();
  /** Of this node. */
  #generation = 0;
  #making = 0;
  /** How often the database turned out to be another one, and up to which time all was made anew. */
  #histories = 0;
  #madeOf = 0;
  /** Of the last change that made all anew, in place of several. */
  #outcomeOfAll: Promise<ChangeOutcome> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #problem: unknown;
  #disposed = false;

  constructor(options: SharedActivationOptions) {
    this.#options = options;
  }

  /** The last change that this node has made. */
  get generation(): number {
    return this.#generation;
  }

  /** The change that this node is making, or has made last. */
  get making(): number {
    return Math.max(this.#making, this.#generation);
  }

  /** Why this node is behind. */
  get problem(): unknown {
    return this.#problem;
  }

  /** Of a node that has activated what was meant to be active at that generation. */
  begin(generation: number): void {
    this.#generation = generation;
    this.#options.reached(generation);
  }

  /** Makes a change on all nodes. @returns what it came to on this one. @throws koNotFound; DatabaseError; what the change throws here. */
  async order(change: Change, about: About, author?: ChangeAuthor): Promise<ChangeOutcome> {
    const before = this.#generation;
    const generation = await this.#options.table.order(change, about, author);
    // Another database than before has numbers that were here already.
    await (generation > before ? this.follow(generation) : this.startOver());
    if (this.#generation < generation && !this.#outcomes.has(generation))
      throw keptFor(change, generation, this.#problem);
    const outcome = await (this.#outcomes.get(generation) ?? this.#outcomeOfAll);
    await this.#options.whenAllReached(generation);
    return outcome ?? NOTHING;
  }

  /** The database is another than before: forgets what that one said, and makes all as this one says. Never rejects. */
  startOver(): Promise<void> {
    this.#histories++;
    this.#outcomes.clear();
    // Whoever waits for this node waits until it has made all.
    this.#generation = Math.min(this.#generation, 1);
    return this.follow(this.#generation);
  }

  /** Makes what was asked for up to that generation, as far as it can be made. Never rejects. */
  follow(generation: number): Promise<void> {
    const isDone = (): boolean =>
      this.#disposed || (generation <= this.#generation && this.#madeOf === this.#histories);
    if (isDone()) return Promise.resolve();
    return this.#queue.run('changes', async () => {
      if (isDone()) return;
      try {
        await this.#catchUp();
        this.#problem = undefined;
      } catch (thrown) {
        this.#problem = thrown;
        this.#options.onProblem(thrown);
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => void this.follow(generation), TRIED_AGAIN_AFTER_MS).unref();
      }
    });
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    clearTimeout(this.#retry);
  }

  async #catchUp(): Promise<void> {
    const { table } = this.#options;
    const history = this.#histories;
    const isOther = this.#madeOf !== history;
    const changes = isOther ? undefined : await table.changes(this.#generation);
    if (changes === undefined || changes.length > MOST_ONE_BY_ONE) {
      const generation = changes?.at(-1)?.generation ?? (await table.latest()).generation;
      await this.#make({ generation, change: 'reload', about: { what: 'all' } });
      this.#outcomeOfAll = this.#outcomes.get(generation);
    } else for (const each of changes) await this.#make(each);
    this.#madeOf = history;
  }

  async #make(activation: Activation): Promise<void> {
    const { kos, apply, reached } = this.#options;
    const { generation, change, about } = activation;
    // A refresh is of the packages that are there, and yet of another generation.
    await kos.catchUp(namesOf(about));
    const history = this.#histories;
    this.#making = generation;
    const outcome = apply(change, about).catch((thrown: unknown) => {
      if (isAboutNothingHere(thrown)) return NOTHING;
      throw thrown;
    });
    this.#keep(generation, outcome);
    await outcome;
    // What another database said counts no more.
    if (history !== this.#histories) return;
    this.#generation = generation;
    reached(generation);
  }

  #keep(generation: number, outcome: Promise<ChangeOutcome>): void {
    outcome.catch(() => undefined);
    this.#outcomes.set(generation, outcome);
    for (const old of this.#outcomes.keys()) {
      if (this.#outcomes.size <= KEPT_OUTCOMES) return;
      this.#outcomes.delete(old);
    }
  }
}

/** Of a change about what nothing of is here any more. */
const NOTHING: ChangeOutcome = { active: [], endpoints: 0, failed: [] };

/** The KO was to leave, by this change or by a later one which this node is about to make, and nothing of it was here. */
const isAboutNothingHere = (thrown: unknown): boolean => thrown instanceof ServiceError && thrown.status === 404;

/** What was asked for is in the database, and no error of this node takes it back. */
const keptFor = (change: Change, generation: number, problem: unknown): ServiceError =>
  outcomeUnknown(
    `The ${change} is kept as generation ${String(generation)} and every node makes it, but this node cannot yet${
      problem === undefined ? '' : `: ${messageOf(problem)}`
    }. There is no need to ask for it again: look at /actuator/fleet for how far the nodes are.`,
    problem,
  );
