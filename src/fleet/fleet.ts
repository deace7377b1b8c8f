/**
 * Several activators that are one: they share the shelf, what is active, and the runtimes. A database holds what they
 * share; each node follows it. Who has a database for itself is a fleet of one, and neither follows it nor waits.
 */
import { randomBytes } from 'node:crypto';
import type { ChangeAuthor } from '../shelf/change-author.ts';
import type { Activator, Change } from '../activation/activator.ts';
import type { ChangeOutcome } from '../activation/selection.ts';
import type { About } from '../activation/selection.ts';
import type { SharedFetches } from '../engines/supervisor/packages/shared-fetches.ts';
import type { RuntimeSharing } from '../engines/external/runtime-engine.ts';
import type { RuntimeRegistry } from '../engines/external/runtime-registry.ts';
import { koKey, type KoId } from '../knowledge-object/id.ts';
import { messageOf, notFound, overloaded, ServiceError, shelfNotReadable } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { errnoOf, writing } from '../shelf/disk-errors.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import type { SharedShelf } from '../shelf/store/stored-shelf.ts';
import { ActiveTable, namesOf } from './active-table.ts';
import { comeOrGone, SharedKos } from './shared-kos.ts';
import { enterFleet, ownName, type Entered, type StartsWith } from './enter-fleet.ts';
import {
  healthOf,
  reportOf,
  type FleetFigures,
  type FleetHealth,
  type FleetReport,
  type Late,
} from './fleet-health.ts';
import { FetchedPackages } from './fetched-packages.ts';
import { Heartbeat, JOINING, Nodes, type NodeFacts, type NodeState, type NodeFailure } from './nodes.ts';
import { History } from './history.ts';
import { retryTransient, withLease } from './lease.ts';
import { SharedActivation } from './shared-activation.ts';
import { SharedRuntimes } from './shared-runtimes.ts';

export interface FleetOptions {
  readonly shelf: SharedShelf;
  /** Of the fleet. */
  readonly name: string;
  /** The rest is known when the service listens, and joins. */
  readonly node: Pick<NodeFacts, 'version' | 'settings'>;
  readonly startsWith: StartsWith;
  /** Milliseconds after which a runtime without a sign of life is forgotten. */
  readonly runtimeExpiry: number;
  /** File of this node that says how far it knew the database. */
  readonly notedHistory: string | undefined;
  readonly log: Logger;
}

/** Of the details of the health, where the database tells them. */
interface FleetCounts {
  readonly nodes?: number;
  readonly silent?: readonly string[];
  readonly runNowhere?: readonly string[];
}

/** "At the latest after 10 s." */
const LONGEST_ACTIVATION_MS = 10_000;
const FOLLOWED_EVERY_MS = 1000;
const FORGOTTEN_EVERY_MS = 60_000;
const LOOKED_AT_EVERY_MS = 5000;
/** Failures that a node tells the others; the rest is in its own health. */
const MOST_FAILURES = 20;

export class Fleet implements AsyncDisposable {
  readonly kos: SharedKos;
  readonly nodes: Nodes;
  readonly #options: FleetOptions;
  readonly #table: ActiveTable;
  readonly #history: History;
  readonly #runtimes: SharedRuntimes;
  readonly #timers: NodeJS.Timeout[] = [];
  #node: Omit<NodeFacts, 'id'>;
  #activator: Activator | undefined;
  #registry: RuntimeRegistry | undefined;
  #activation: SharedActivation | undefined;
  #heartbeat: Heartbeat | undefined;
  #problem: string | undefined;
  /** It has activated what was active when it joined. */
  #hasBegun = false;
  /** The generation of the fleet, as this node knows it. */
  #latest = 0;
  /** As it was looked at last: metrics wait for no database. */
  #seen = { isUp: true, nodes: { live: 1, silent: 0 }, runNowhere: 0 };
  /** The last change of this node that others did not make in time, and which nodes. */
  #late: Late = { generation: 0, nodes: [] };

  constructor(options: FleetOptions) {
    const { shelf, log } = options;
    const { database } = shelf;
    this.#options = options;
    this.#node = { ...options.node, name: '', address: '', joined: 0 };
    this.nodes = new Nodes(database);
    this.#table = new ActiveTable(database);
    this.#history = new History(database, options.notedHistory);
    this.kos = new SharedKos(this.#table, shelf);
    this.#runtimes = new SharedRuntimes({
      database,
      node: shelf.node,
      generationOf: ({ ko }) => this.kos.find(ko)?.generation ?? 0,
      generation: () => this.#activation?.making ?? 0,
      isActive: (endpoint) => this.#activator?.set.endpoints.some(({ id }) => id === endpoint) === true,
      renewed: () => this.kos.readTimes(),
      take: (shared) => this.#registry?.takeShared(shared),
      expiry: options.runtimeExpiry,
      onProblem: (cause) => log.debug({ cause: messageOf(cause) }, 'runtimes cannot be shared now'),
    });
  }

  /** Whether there may be other nodes. */
  get isShared(): boolean {
    return this.#options.shelf.database.isShared;
  }

  /** Undefined where runtimes are this node's own. */
  get sharing(): RuntimeSharing | undefined {
    return this.isShared ? this.#runtimes : undefined;
  }

  /** What other nodes fetched for installations of packages; undefined where there are none. */
  get fetches(): SharedFetches | undefined {
    const { shelf, log } = this.#options;
    if (!this.isShared) return undefined;
    return new FetchedPackages({
      ...{ database: shelf.database, objects: shelf.objects },
      alone: (name, work) => this.alone(name, work),
      onProblem: (cause) => log.debug({ cause }, 'what was fetched cannot be shared now'),
    });
  }

  /** Of this node. */
  get id(): string {
    return this.#options.shelf.node.value;
  }

  /**
   * Becomes a node of the fleet. The first activates what lies on the shelf, or what was active before; joining others changes nothing.
   * @param at under which this node is known. @returns whether it is the first. @throws DatabaseError.
   */
  async join(activator: Activator, registry: RuntimeRegistry, at: { name: string; address: string }): Promise<boolean> {
    const { log, shelf } = this.#options;
    const { database } = shelf;
    this.#activator = activator;
    this.#registry = registry;
    this.#node = { ...this.#node, ...at };
    const { generation, isFirst, ...entered } = await this.#enter();
    this.#node = { ...this.#node, ...entered };
    const activation = new SharedActivation({
      table: this.#table,
      kos: this.kos,
      apply: (change, about) => activator.apply(change, about),
      reached: () => void this.#heartbeat?.beat(),
      whenAllReached: (to) => this.#waitForOthers(to),
      onProblem: (cause) => log.warn({ cause: messageOf(cause) }, 'this node could not follow a change of the fleet'),
    });
    this.#activation = activation;
    activation.begin(generation);
    if (!this.isShared) return isFirst;
    await this.retryTransient(() => this.#runtimes.follow());
    await this.retryTransient(() => this.#compareHistory());
    this.#heartbeat = new Heartbeat({
      database,
      node: () => ({ ...this.#node, id: this.id }),
      state: (): NodeState => ({
        revision: shelf.reached.revision,
        generation: this.#hasBegun ? activation.generation : JOINING,
        failures: this.#failures(),
      }),
      onFleet: ({ generation: latest, doubt, number, mark }) => {
        this.#problem = undefined;
        void this.#history.note({ number, mark });
        this.#history.heard(doubt);
        this.#latest = latest;
        if (this.#hasBegun) void activation.follow(latest);
      },
      onTaken: () => this.#takeAnotherId(),
      onProblem: (cause) => (this.#problem = messageOf(cause)),
    });
    this.#heartbeat.begin();
    const { name } = this.#node;
    log.info({ event: 'fleet', node: name, fleet: this.#options.name, generation }, `Joined the fleet as ${name}`);
    return isFirst;
  }

  /** Reads what is to be active, once it is said what that is. @throws an error of the database. */
  async #enter(): Promise<Entered> {
    const { shelf, log } = this.#options;
    const enter = async (): Promise<Entered> => {
      const entered = await enterFleet(shelf, this.#table, this.#node, this.#options.startsWith);
      await this.kos.catchUp();
      return entered;
    };
    if (this.isShared) return this.retryTransient(enter);
    try {
      return await enter();
    } catch (thrown) {
      // Nobody else is to know it, and what can be read can be run.
      log.warn({ cause: messageOf(thrown) }, 'what is to be active cannot be written into the database of the shelf');
      this.kos.take(await shelf.list());
      return { generation: 0, name: this.#node.name, joined: 0, isFirst: true };
    }
  }

  /**
   * To be called once this node has activated what was active when it joined: from then on the others wait for it.
   * Resolves when it has made what they changed meanwhile.
   */
  async begin(): Promise<void> {
    const { shelf } = this.#options;
    this.#hasBegun = true;
    if (!this.isShared) return;
    shelf.onChange = () => {
      this.wake();
      void this.#activation?.follow(shelf.reached.generation);
    };
    shelf.onOtherHistory = (why) => void this.#takeOtherHistory(why);
    await this.#heartbeat?.beat();
    await this.#activation?.follow(this.#latest);
    this.#every(FOLLOWED_EVERY_MS, () => this.#runtimes.follow());
    this.#every(LOOKED_AT_EVERY_MS, () => this.health());
    this.#every(FORGOTTEN_EVERY_MS, () => this.nodes.forgetGone());
  }

  /** Looks now whether there is something to follow. */
  wake(): void {
    void this.#heartbeat?.beat();
  }

  /** Does what a start needs, again where the database is away for a while. @throws what does not pass. */
  retryTransient<T>(work: () => Promise<T>): Promise<T> {
    const words = 'this node cannot go on with its start without the database of its fleet: it tries again';
    return retryTransient(this.#options.shelf.database, work, (cause) => this.#options.log.warn({ cause }, words));
  }

  /** The key with which all nodes sign the tokens of calls; undefined where there are no others. @throws what does not pass. */
  async callKey(): Promise<Buffer | undefined> {
    if (!this.isShared) return undefined;
    return this.retryTransient(() => this.#table.callKey(randomBytes(32)));
  }

  /** Makes a change of what is active on all nodes. @throws koNotFound; DatabaseError; what it throws on this node. */
  order(change: Change, about: About, author?: ChangeAuthor): Promise<ChangeOutcome> {
    const [activation, activator] = [this.#activation, this.#activator];
    if (activation === undefined || activator === undefined)
      throw overloaded('This node has not joined its fleet yet; try again later');
    const { kos } = this;
    const { shelf } = this.#options;
    return this.#changing(async () => {
      // What people put there by hand is on the shelf from now on.
      await shelf.rescan(namesOf(about), change === 'reload' ? 'all' : 'new', author);
      const whole =
        about.what === 'engine' ? { ...about, also: await comeOrGone(about.engine, { shelf, kos, activator }) } : about;
      try {
        return await activation.order(change, whole, author);
      } catch (thrown) {
        if (this.isShared || thrown instanceof ServiceError || errnoOf(thrown) === undefined) throw thrown;
        // A disk that is full fails changes of the shelf alone: nobody else has to hear of this one.
        kos.change(change, whole, await shelf.list());
        return activator.apply(change, whole);
      }
    });
  }

  /** The package of a KO that has this digest, where it is meant to be active. @throws as a shelf's `open`. */
  async openActive(id: KoId, digest: string): Promise<KoPackage | undefined> {
    const isActive = this.kos.find(id)?.digest === digest || (await this.#table.isActive(id, digest));
    return isActive ? this.#options.shelf.openPackage(id, digest) : undefined;
  }

  /** Those of which another package is active than the one on the shelf, or none. */
  async notActive(ids: readonly KoId[]): Promise<readonly KoId[]> {
    const { shelf } = this.#options;
    await this.kos.catchUp(ids);
    const entries = await Promise.all(ids.map((id) => shelf.find(id)));
    return entries.flatMap((entry) =>
      entry !== undefined && this.kos.find(entry.id)?.digest !== entry.digest ? [entry.id] : [],
    );
  }

  /** Does something that one node at a time is to do. @throws what the work throws; what does not pass of the database. */
  async alone<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.isShared ? withLease(this.#options.shelf.database, this.id, name, work) : work();
  }

  /** All nodes that are known, and what each has not come to yet. @throws shelfNotReadable. */
  async report(): Promise<FleetReport> {
    const [nodes, latest] = await Promise.all([this.nodes.list(), this.#table.latest()]).catch((thrown: unknown) => {
      throw shelfNotReadable(`The nodes of the fleet cannot be read from its database: ${messageOf(thrown)}`, thrown);
    });
    return reportOf(this.#options.name, latest, nodes, this.id);
  }

  /** Of this node. */
  figures(): FleetFigures {
    const { name: fleet } = this.#options;
    const generation = this.#activation?.generation ?? 0;
    return {
      fleet,
      name: this.#node.name,
      id: this.id,
      generation,
      ...this.#seen,
      hasOtherHistory: this.#history.doubt !== undefined,
    };
  }

  async health(): Promise<FleetHealth> {
    const health = await this.#health();
    const { nodes = this.#seen.nodes.live, silent = [], runNowhere = [] } = health.details as FleetCounts;
    this.#seen = {
      ...{ isUp: health.status === 'UP', nodes: { live: nodes, silent: silent.length } },
      runNowhere: runNowhere.length,
    };
    return health;
  }

  async #health(): Promise<FleetHealth> {
    const { fleet, name: node, generation } = this.figures();
    const own = { fleet, node, generation };
    try {
      return healthOf(own, await this.nodes.list(), {
        ...{ late: this.#late, problem: this.#activation?.problem, doubt: this.#history.doubt },
      });
    } catch (thrown) {
      return { status: 'DOWN', details: { ...own, problem: this.#problem ?? messageOf(thrown) } };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#timers) clearInterval(each);
    this.#activation?.[Symbol.dispose]();
    await this.#heartbeat?.end();
  }

  /** A node with a copy of its state folder has taken the place of this one. */
  async #takeAnotherId(): Promise<void> {
    const { shelf, log } = this.#options;
    const before = this.id;
    await shelf.node.renew();
    this.#node = { ...this.#node, name: ownName(this.#node.name, this.id) };
    log.warn(
      { event: 'node-id', before, id: this.id, node: this.#node.name },
      'another node has joined with the id of this one, as with a copy of its state folder (--state): this one goes on with another id',
    );
  }

  /** An operator has looked at what the database lost. @throws notFound where there is nothing to confirm; an error of the database. */
  async confirm(): Promise<void> {
    if (!(await this.#changing(() => this.#history.confirm())))
      throw notFound('There is nothing to confirm: the database of the fleet is the one that it was.');
  }

  /** Whether the database goes on from where this node left it when it ended. @throws an error of the database. */
  async #compareHistory(): Promise<void> {
    const why = await this.#history.compare();
    if (why === undefined) return;
    this.#tellOtherHistory(why);
    await this.#history.tell(why, this.#node.name);
  }

  #tellOtherHistory(why: string): void {
    this.#options.log.error(
      { event: 'other-history', cause: why },
      'the database of the fleet is not the one it was, as after a standby took over that lacked changes, or an old primary came back: this node takes it as the truth and activates what is active there; look what is missing, and confirm that with POST /actuator/fleet/confirm',
    );
  }

  /** The database is the truth, whatever another one said before. */
  async #takeOtherHistory(why: string): Promise<void> {
    const { log, shelf } = this.#options;
    this.#tellOtherHistory(why);
    this.#latest = 0;
    this.#runtimes.forget();
    this.#history.heard(why);
    const noted = this.retryTransient(() => this.#history.tell(why, this.#node.name)).catch((thrown: unknown) => {
      log.error({ cause: messageOf(thrown) }, 'that the database is another one could not be noted in it');
    });
    await Promise.all([this.#activation?.startOver(), noted]);
    // A row that this node had in the other one, at another time.
    await shelf.database
      .query(`DELETE FROM ${shelf.database.dialect.schema}node WHERE id = $1 AND joined <> $2`, [
        ...[this.id, this.#node.joined],
      ])
      .catch(() => undefined);
    this.wake();
  }

  /** Errors of the disk and the database become those of the contract. */
  #changing<T>(work: () => Promise<T>): Promise<T> {
    return writing(() =>
      work().catch((thrown: unknown) => {
        throw this.#options.shelf.database.toServiceError(thrown);
      }),
    );
  }

  async #waitForOthers(generation: number): Promise<void> {
    if (!this.isShared) return;
    try {
      const nodes = await this.nodes.whenReached(generation, LONGEST_ACTIVATION_MS);
      this.#late = { generation, nodes };
    } catch (thrown) {
      this.#problem = messageOf(thrown);
      return;
    }
    if (this.#late.nodes.length > 0)
      this.#options.log.warn(
        { event: 'nodes-behind', nodes: this.#late.nodes, generation },
        `not all nodes of the fleet have made a change within ${LONGEST_ACTIVATION_MS / 1000} s`,
      );
  }

  #failures(): readonly NodeFailure[] {
    if (this.#activator === undefined) return [];
    const { endpoints, failures } = this.#activator.set;
    const failed = endpoints
      .filter(({ status }) => status === 'FAILED_TO_ACTIVATE')
      .map(({ ko, detail, triedAgainAt }) => ({
        ...{ knowledgeObject: ko.key, cause: detail ?? 'failed to activate' },
        ...(triedAgainAt !== undefined && { triedAgainAt: new Date(triedAgainAt).toISOString() }),
      }));
    const unloaded = failures.map(({ id, cause }) => ({ knowledgeObject: koKey(id), cause }));
    return [...unloaded, ...failed].slice(0, MOST_FAILURES);
  }

  #every(milliseconds: number, work: () => Promise<unknown>): void {
    let isRunning = false;
    const run = async (): Promise<void> => {
      // A slow database is not asked again before it has answered.
      if (isRunning) return;
      isRunning = true;
      await work().catch((thrown: unknown) => (this.#problem = messageOf(thrown)));
      isRunning = false;
    };
    this.#timers.push(setInterval(() => void run(), milliseconds));
  }
}
