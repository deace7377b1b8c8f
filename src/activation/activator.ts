/**
 * Loads knowledge objects from the shelf and keeps the set of endpoints. A reload or refresh builds the next set
 * beside the present one and then puts it in its place, so that "a request meets either the old or the new set".
 */
import type { Logger } from 'pino';
import { engineName } from '../engines/table.ts';
import { type KoId, koKey, type KoName, parseKoId } from '../knowledge-object/id.ts';
import { Backoff } from '../lib/backoff.ts';
import { koNotFound, messageOf, overloaded } from '../lib/errors.ts';
import { FairQueue } from '../lib/fair-queue.ts';
import type { ChangeAuthor } from '../shelf/change-author.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import { EndpointSet, type LoadFailure } from './endpoint-set.ts';
import type { Endpoint } from './endpoint.ts';
import { type ActivationObserver, type FailedActivation, FailedEndpoints } from './failed-endpoints.ts';
import type { KnownPackages } from './known-packages.ts';
import { KoLoader, type KoLoaderOptions } from './ko-loader.ts';
import type { LoadedKo } from './loaded-ko.ts';
import { hasAlternative, unreadOf } from './loading.ts';
import { ActivationQueue, asDeclared, EndpointMaker, makeEndpoints, type MakingParts } from './make-endpoints.ts';
import { type About, type ActiveKos, type ChangeOutcome, type ListedKo, outcomeOf, selectionOf } from './selection.ts';

export type Change = 'reload' | 'refresh';

export interface ActivatorOptions extends Omit<KoLoaderOptions, 'isStart' | 'onFailed' | 'present'> {
  readonly shelf: ActiveKos;
  readonly log: Logger;
  /** Makes what is asked for, where several activators make it together; each then calls `apply`. */
  readonly order?: ((change: Change, about: About, author?: ChangeAuthor) => Promise<ChangeOutcome>) | undefined;
  /** Milliseconds that an endpoint may ask for, as the time limit of its calls. */
  readonly maxTimeout?: number | undefined;
  readonly observe?: ActivationObserver | undefined;
  /** Hears the key of a KO of which nothing is on the shelf or in the set any more. */
  readonly onGone?: ((ko: string) => void) | undefined;
  /** Hears of what cannot be activated. */
  readonly onFailed?: ((failed: FailedActivation) => void) | undefined;
}

/** "At the latest after 10 s with slow remote endpoints still `LOADED`." */
const WAIT_MS = 10_000;
/** For a start that goes on; one that waits for something else may take any time. */
const LONGEST_WAIT_FOR_START_MS = 10_000;

export class Activator implements Disposable {
  readonly #shelf: ActiveKos;
  readonly #order: (change: Change, about: About, author?: ChangeAuthor) => Promise<ChangeOutcome>;
  readonly #known: KnownPackages | undefined;
  readonly #loader: KoLoader;
  readonly #making: MakingParts;
  readonly #log: Logger;
  readonly #onGone: (ko: string) => void;
  readonly #queue = new ActivationQueue();
  readonly #changes = new FairQueue({ perKey: 1 });
  #set = new EndpointSet([], []);
  readonly #whenLoaded = Promise.withResolvers<void>();
  readonly #whenStarted = Promise.withResolvers<void>();
  /** True once the shelf was read for the first time. */
  loaded = false;
  /** Knowledge objects whose endpoints are being activated, by key: they are not in the set yet. */
  readonly #coming = new Map<string, LoadedKo>();
  readonly #failed: FailedEndpoints;
  readonly #retries: Retries;

  constructor(options: ActivatorOptions) {
    this.#shelf = options.shelf;
    const { order } = options;
    this.#order = async (change, about, author) => {
      if (order === undefined) return this.apply(change, about);
      // Until then it is not known what is active.
      await this.whenLoaded();
      return order(change, about, author);
    };
    this.#known = options.known;
    this.#log = options.log;
    this.#onGone = options.onGone ?? (() => undefined);
    this.#failed = new FailedEndpoints({ ...options, onListed: (each) => this.#takeListed(each) });
    this.#loader = new KoLoader({
      ...options,
      isStart: () => !this.loaded,
      onFailed: (failure) => this.#failed.unloaded(failure),
      present: (key) => this.loadedKo(key),
    });
    const maker = new EndpointMaker({
      ...options,
      prioritize: (each) => this.#queue.prioritize(each),
      onDecided: (each, milliseconds) => this.#failed.decided(each, milliseconds),
    });
    this.#making = { maker, queue: this.#queue, engines: options.engines, coming: this.#coming };
    this.#retries = new Retries({
      isPending: () => this.unread.length > 0 || this.#shelf.damage().some(({ transient }) => transient === true),
      attempt: () => this.#tryAgain(),
      onError: (thrown) => this.#log.warn({ cause: messageOf(thrown) }, 'what could not be read is still unreadable'),
    });
  }

  /** What is loaded now. */
  get set(): EndpointSet {
    return this.#set;
  }

  /** Resolves once what is active is known. @throws overloaded where that takes long, as without the database of a fleet. */
  async whenLoaded(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>(
      (resolve) => (timer = setTimeout(() => resolve('late'), LONGEST_WAIT_FOR_START_MS)),
    );
    const first = await Promise.race([this.#whenLoaded.promise, late]);
    clearTimeout(timer);
    if (first === 'late')
      throw overloaded('The activator is starting and does not know yet what is active; try again later');
  }

  /** Loads all; the endpoints can be called from then on. `decided` settles when the built-in ones are activated or failed. */
  async start(): Promise<{ decided: Promise<void> }> {
    await this.#changes.run('set', async () => {
      const { declared, opened, failures } = await this.#loader.load(await this.#shelf.list(), new Map());
      const { endpoints } = this.#making.maker.endpoints(declared);
      for (const ko of opened) ko.settle();
      this.#set = new EndpointSet(endpoints, failures);
      for (const each of endpoints) if (!each.activateKnown()) this.#queue.add(each);
      this.loaded = true;
      this.#whenLoaded.resolve();
    });
    const builtIn = this.#set.endpoints.filter((each) => each.engine?.builtIn !== false);
    const decided = Promise.all(builtIn.map((each) => each.decided)).then(() => {
      this.#retries.watch();
      this.#known?.endStart();
      void this.#known?.save();
      this.#whenStarted.resolve();
    });
    void Promise.all(this.#set.endpoints.map((each) => each.decided)).then(() => this.#known?.endLoads());
    this.#retries.watch();
    return { decided };
  }

  /** What was loaded last of a KO, by its key: runtimes fetch its artifacts while they activate it. */
  loadedKo(key: string): LoadedKo | undefined {
    const id = parseKoId(key);
    const loaded = (): readonly Endpoint[] => (id === undefined ? [] : this.#set.ofName(id));
    return this.#coming.get(key) ?? loaded().findLast((each) => each.ko.key === key)?.ko;
  }

  /** "Discard all endpoints, reload every KO from the shelf, activate all endpoints." */
  reloadAll(author?: ChangeAuthor): Promise<ChangeOutcome> {
    return this.#order('reload', { what: 'all' }, author);
  }

  /** "Discard endpoints of one KO, reload it, activate its endpoints"; all its versions when none is given. @throws koNotFound. */
  reload(naan: string, name: string, version?: string, author?: ChangeAuthor): Promise<ChangeOutcome> {
    return this.#order('reload', { what: 'ko', naan, name, version }, author);
  }

  /**
   * A runtime of that engine is new, or back: its endpoints are activated again, in the background. Where it is `alone`,
   * nothing runs the old ones, and calls are better off waiting for the new.
   */
  runtimeCame(engine: string, alone: boolean): void {
    // After a change that is under way: it may have made endpoints that know nothing of this runtime.
    void this.#changes
      .run('set', () => Promise.resolve())
      .then(() => {
        const concerned = this.#set.endpoints.filter((each) => each.entry.engine === engine);
        // Those that wait for a runtime take this one themselves.
        const wait = concerned.every((each) => each.status === 'LOADED' && each.engine !== undefined);
        return wait ? undefined : this.apply('refresh', { what: 'engine', engine }, alone ? 0 : WAIT_MS);
      })
      .catch((thrown: unknown) => this.#log.error({ engine, err: thrown }, 'activation failed'));
  }

  /** There will be no runtime of that engine: services with another implementation take that. */
  engineIsAbsent(engine: string): void {
    void this.#changes
      .run('set', () => Promise.resolve())
      .then(() => {
        const kos = new Set(this.#set.endpoints.filter((each) => each.entry.engine === engine).map(({ ko }) => ko));
        const concerned = [...kos].filter((ko) => hasAlternative(ko, engine)).map(({ id }) => id);
        return concerned.length === 0 ? undefined : this.apply('refresh', { what: 'kos', kos: concerned });
      })
      .catch((thrown: unknown) => this.#log.error({ engine, err: thrown }, 'activation failed'));
  }

  /** Takes in what was just imported. */
  reloadImported(ids: readonly KoId[]): Promise<ChangeOutcome> {
    return this.#order('reload', { what: 'kos', kos: ids });
  }

  /** Reads again what lies here: nothing of what is to be active has changed. */
  reloadHere(ids: readonly KoId[]): Promise<ChangeOutcome> {
    return this.apply('reload', { what: 'kos', kos: ids });
  }

  /** Once the start is over: the KOs whose packages it did not read, since an earlier start knew them. */
  async takenAsKnown(): Promise<readonly KoId[]> {
    await this.#whenStarted.promise;
    return [...new Set(this.#set.endpoints.map(({ ko }) => ko))].flatMap((ko) => (ko.wasRead ? [] : [ko.id]));
  }

  /** Its package is damaged: a KO that nobody has opened yet fails now, not at its first call. */
  async foundDamaged(id: KoId): Promise<void> {
    const ko = this.loadedKo(koKey(id));
    if (ko !== undefined && !ko.wasRead && !ko.isOpen) await this.reloadHere([id]);
  }

  /** "Reactivate and replace every loaded endpoint; no shelf reload." */
  refreshAll(author?: ChangeAuthor): Promise<ChangeOutcome> {
    return this.#order('refresh', { what: 'all' }, author);
  }

  refreshEngine(engine: string, author?: ChangeAuthor): Promise<ChangeOutcome> {
    return this.#order('refresh', { what: 'engine', engine: engineName(engine) }, author);
  }

  /** @throws koNotFound. */
  refresh(naan: string, name: string, version?: string, author?: ChangeAuthor): Promise<ChangeOutcome> {
    return this.#order('refresh', { what: 'ko', naan, name, version }, author);
  }

  /** The engines of what a package declares, as it would run here. @throws as its activation. */
  enginesOf(pkg: KoPackage): Promise<readonly string[]> {
    return this.#loader.enginesOf(pkg);
  }

  /** Why a KO, of any version, could not be read, where that may pass. */
  unreadable(naan: string, name: string): string | undefined {
    return unreadOf(this.#set.failuresOf({ naan, name }), this.#set.ofName({ naan, name }))[0]?.cause;
  }

  /** Tries again now what could not be read. Never rejects. */
  tryAgain(): Promise<void> {
    return this.#retries.now();
  }

  [Symbol.dispose](): void {
    this.#retries.dispose();
    this.#failed[Symbol.dispose]();
    for (const each of this.#set.endpoints) each.dispose();
  }

  /**
   * Makes a change of this activator's endpoints.
   * @param waitMs milliseconds until the new set takes the place of the old with slow remote endpoints still `LOADED`.
   * @param relists whether libraries are asked for their functions again.
   */
  apply(kind: Change, about: About, waitMs = WAIT_MS, relists = true): Promise<ChangeOutcome> {
    const selection = selectionOf(about);
    return this.#changes.run('set', async () => {
      const began = Date.now();
      const old = this.#set;
      const { names } = selection;
      /** Those that it may concern, and those with which these share their ids. */
      const present = names === undefined ? old.endpoints : names.flatMap((each) => old.ofName(each));
      if (kind === 'reload') await this.#shelf.rescan(names);
      const stored = (await this.#entries(names)).filter((entry) => selection.ko(entry.id));
      const concerned = (each: Endpoint): boolean =>
        selection.ko(each.ko.id) && selection.engine(each.entry.engine, each.ko.id);
      const kept = present.filter((each) => !concerned(each));
      // Also those of which no endpoint is concerned: they are not new on the shelf.
      const loaded = new Map(present.filter((each) => selection.ko(each.ko.id)).map((each) => [each.ko.key, each.ko]));
      if (selection.named !== undefined && stored.length === 0 && loaded.size === 0) throw koNotFound(selection.named);

      if (relists && kind === 'refresh')
        for (const ko of loaded.values()) ko.library?.forget((engine) => selection.engine(engine, ko.id));
      const { declared, opened, failures, refusal } = await this.#loader.load(
        stored,
        kind === 'reload' ? new Map() : loaded,
      );
      if (refusal !== undefined) {
        for (const ko of opened) ko.settle();
        throw refusal;
      }
      // What cannot be read now stays as it was.
      const unread = new Set(failures.filter(({ transient }) => transient).map(({ id }) => koKey(id)));
      kept.push(...present.filter((each) => concerned(each) && unread.has(each.ko.key)));
      const wanted = declared.filter(({ ko, entry }) => selection.engine(entry.engine, ko.id));
      const making = makeEndpoints([...kept.map(asDeclared), ...wanted], waitMs, this.#making);
      for (const ko of opened) ko.settle();
      const { endpoints, made, spent } = await making;
      const allFailures = [...old.unloaded.filter(({ id }) => !selection.ko(id)), ...failures];
      this.#set =
        names === undefined ? new EndpointSet(endpoints, allFailures) : old.with(names, endpoints, allFailures);
      this.#coming.clear();
      const staying = new Set(endpoints);
      for (const each of [...present, ...spent]) if (!staying.has(each)) this.#discard(each);
      const here = new Set([...endpoints.map(({ ko }) => ko.key), ...stored.map(({ id }) => koKey(id))]);
      for (const { ko } of present) if (!here.has(ko.key)) this.#onGone(ko.key);
      this.#retries.watch();
      void this.#known?.save();
      this.#log.info({ change: kind, endpoints: made.length, milliseconds: Date.now() - began }, `${kind} done`);
      return outcomeOf(made, present, failures);
    });
  }

  async #entries(names: readonly KoName[] | undefined): Promise<readonly ListedKo[]> {
    if (names === undefined) return this.#shelf.list();
    return (await Promise.all(names.map(({ naan, name }) => this.#shelf.versions(naan, name)))).flat();
  }

  /** What could not be read, or whose endpoints could not, for a reason that passes. */
  get unread(): readonly LoadFailure[] {
    return unreadOf(this.#set.failures, this.#failed.unread);
  }

  /** Endpoints that failed for a reason that may pass, and are tried again by themselves. */
  get triedAgain(): readonly Endpoint[] {
    return this.#failed.triedAgain;
  }

  async #tryAgain(): Promise<void> {
    const found = await this.#shelf.readAgain();
    // Nobody could say until now that they are to be active.
    if (found.length > 0) await this.reloadImported(found);
    const failed = this.#set.failures.filter(({ transient }) => transient).map(({ id }) => id);
    if (failed.length > 0) await this.reloadHere(failed);
    const unread = new Map(this.unread.map(({ id }) => [koKey(id), id]));
    const loaded = [...unread].flatMap(([key, id]) => this.#set.ofName(id).filter((each) => each.ko.key === key));
    if (loaded.some((each) => each.transient)) await this.apply('refresh', { what: 'kos', kos: [...unread.values()] });
  }

  /** The functions of a library take the place of what stood for it, where that has it. */
  #takeListed(endpoint: Endpoint): void {
    const { id } = endpoint.ko;
    void this.#changes
      .run('set', () => Promise.resolve(this.#set.ofName(id).includes(endpoint)))
      .then((has) => (has ? this.apply('refresh', { what: 'kos', kos: [id] }, WAIT_MS, false) : undefined))
      .catch((thrown: unknown) => this.#log.error({ ko: koKey(id), err: thrown }, 'activation failed'));
  }

  #discard(endpoint: Endpoint): void {
    this.#queue.remove(endpoint);
    this.#failed.remove(endpoint);
    endpoint.dispose();
  }
}

// Tries again what failed for a reason that passes, less and less often, until it is over.

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

interface RetriesOptions {
  /** True while there is something to try again. */
  readonly isPending: () => boolean;
  /** Tries it. What it rejects with counts as one more failure. */
  readonly attempt: () => Promise<void>;
  readonly onError: (thrown: unknown) => void;
}

class Retries {
  readonly #options: RetriesOptions;
  readonly #backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** When the last attempt ended, in milliseconds of `performance.now()`. */
  #ended = -Infinity;
  #disposed = false;

  constructor(options: RetriesOptions) {
    this.#options = options;
  }

  /** To be called after each change of what is loaded. */
  watch(): void {
    if (this.#disposed || this.#running !== undefined) return;
    if (!this.#options.isPending()) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#backoff.reset();
      return;
    }
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#run(), this.#backoff.next()).unref();
  }

  /** Tries at once, but for callers that ask again and again; those at the same time share one attempt. */
  async now(): Promise<void> {
    if (this.#running === undefined && performance.now() - this.#ended < FIRST_PAUSE_MS) return;
    await this.#run();
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#options
      .attempt()
      .catch(this.#options.onError)
      .finally(() => {
        this.#running = undefined;
        this.#ended = performance.now();
        this.watch();
      });
    return this.#running;
  }
}
