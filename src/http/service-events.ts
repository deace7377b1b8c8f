/**
 * What happens in the service, for those who look at it now. While nobody does, nothing is done: no timer runs, and no
 * database is asked.
 */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Activator } from '../activation/activator.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { EngineRegistry } from '../engines/engine-registry.ts';
import { messageOf, overloaded } from '../lib/errors.ts';
import { escapeSteering } from '../lib/log.ts';
import { uptime } from '../lib/time.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { History } from '../metrics/history.ts';
import type { AuditFollower, AuditStore, KeptAuditRecord } from '../shelf/audit/audit-store.ts';
import type { Shelf } from '../shelf/shelf.ts';
import { numberIn } from './listings/list-query.ts';
import { declare } from './methods.ts';

interface ServiceEventsOptions {
  readonly state: Pick<ServiceState, 'token' | 'read'>;
  readonly audit: AuditStore | undefined;
  /** Where the audit or the state cannot be read. */
  readonly onProblem: (cause: string) => void;
}

/** Milliseconds between two looks at what changed, … */
const LOOK_MS = 1000;
/** … after which the state is told though nothing did, … */
const STATE_MS = 5000;
/** … and after which the connection is shown to be alive. */
const SILENCE_MS = 15_000;
/** Records that a listener is given who was away. */
const MOST_MISSED = 1000;

export class ServiceEvents implements Disposable {
  readonly #options: ServiceEventsOptions;
  readonly #listeners = new Listeners(
    () => this.#wake(),
    () => this.#rest(),
  );
  #timer: NodeJS.Timeout | undefined;
  #follower: Promise<AuditFollower> | undefined;
  #isFollowing = false;
  #told: { readonly token: string; readonly at: number; readonly line: Buffer } | undefined;
  #problem = '';

  constructor(options: ServiceEventsOptions) {
    this.#options = options;
  }

  get listeners(): number {
    return this.#listeners.count;
  }

  /** `after`: the id of the last audit record that is known there. */
  listen(after: number | undefined): Listener {
    const listener = new Listener();
    this.#listeners.add(listener);
    void this.#begin(listener, after);
    return listener;
  }

  tell(event: ServiceEvent): void {
    this.#listeners.tell(event);
  }

  /** No more comes. */
  [Symbol.dispose](): void {
    this.#listeners.end();
    this.#rest();
  }

  /** It is told the state, and what it missed; what comes meanwhile waits. */
  async #begin(listener: Listener, after: number | undefined): Promise<void> {
    const present = await this.#tellState(LOOK_MS);
    try {
      const missed = after === undefined ? [] : await this.#newerThan(after);
      const lines = missed.map((record) => lineOf({ type: 'audit', record }));
      listener.begin(present === undefined ? lines : [present, ...lines], missed.at(-1)?.id ?? 0);
    } catch (thrown) {
      this.#tellProblem(thrown);
      // Its client asks again, and misses nothing.
      listener.begin([], 0);
      listener.end();
    }
  }

  async #newerThan(id: number): Promise<readonly KeptAuditRecord[]> {
    // From where it follows on, nothing is missed.
    await this.#follower;
    const page = await this.#options.audit?.read({ limit: MOST_MISSED, newerThan: id });
    return page?.records.toReversed() ?? [];
  }

  #wake(): void {
    this.#follower = this.#fromNow();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
    void this.#follow();
  }

  #fromNow(): Promise<AuditFollower> | undefined {
    const following = this.#options.audit?.follow();
    // Whoever waits for it hears of it.
    following?.catch(() => undefined);
    return following;
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#follower = undefined;
    this.#told = undefined;
  }

  #look(): void {
    if (this.#listeners.silence >= SILENCE_MS) this.tell({ type: 'alive' });
    void this.#follow();
    void this.#tellState(STATE_MS);
  }

  /** One question at a time, however long it takes. */
  async #follow(): Promise<void> {
    const following = this.#follower;
    if (following === undefined || this.#isFollowing) return;
    this.#isFollowing = true;
    let follower: AuditFollower | undefined;
    try {
      follower = await following;
      for (const record of await follower.next())
        this.#listeners.tellLine(lineOf({ type: 'audit', record }), record.id);
    } catch (thrown) {
      this.#tellProblem(thrown);
      // It is not known from where to follow.
      if (follower === undefined && this.#follower === following) this.#follower = this.#fromNow();
    } finally {
      this.#isFollowing = false;
    }
  }

  /** Tells all of them where it changed, or was told longer ago than that; else gives what was told. */
  async #tellState(age: number): Promise<Buffer | undefined> {
    const { state } = this.#options;
    try {
      const token = await state.token();
      const told = this.#told;
      if (told?.token === token && uptime() - told.at < age) return told.line;
      const line = lineOf(await state.read());
      // Those who came together have it from each other.
      if (this.#told !== told) return undefined;
      if (this.#timer !== undefined) this.#told = { token, at: uptime(), line };
      this.#listeners.tellLine(line);
    } catch (thrown) {
      this.#tellProblem(thrown);
    }
    return undefined;
  }

  /** Once, as long as it is the same. */
  #tellProblem(thrown: unknown): void {
    const cause = messageOf(thrown);
    if (cause !== this.#problem) this.#options.onProblem(cause);
    this.#problem = cause;
  }
}

/** Who follows the events of the service. Each event is made once, as a line of JSON, whoever reads it. */
interface ServiceEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Bytes that a listener may leave unread. */
const MOST_UNREAD_BYTES = 2 ** 20;
/** Milliseconds for what is unread when a stream ends. */
const LINGER_MS = 1000;

const lineOf = (event: ServiceEvent): Buffer => Buffer.from(`${escapeSteering(JSON.stringify(event))}\n`);

/** What one of them reads. It ends when its reader does not keep up. */
export class Listener extends Readable {
  /** Lines that wait for those before them, with the ids of their audit records. */
  #waiting: (readonly [line: Buffer, id: number | undefined])[] | undefined = [];
  #waitingBytes = 0;
  #hasEnded = false;

  constructor() {
    super({ highWaterMark: MOST_UNREAD_BYTES });
  }

  override _read(): void {
    // Lines come by themselves.
  }

  /** What comes first; then that which came meanwhile, without the audit records up to `known`. */
  begin(lines: readonly Buffer[], known: number): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const line of lines) this.give(line);
    for (const [line, id] of waiting) if (id === undefined || id > known) this.give(line);
  }

  /** `id`: of the audit record that it holds. */
  give(line: Buffer, id?: number): void {
    if (this.destroyed || this.#hasEnded) return;
    const unread = this.#waiting === undefined ? this.readableLength : (this.#waitingBytes += line.length);
    if (unread + line.length > MOST_UNREAD_BYTES) this.destroy();
    else if (this.#waiting !== undefined) this.#waiting.push([line, id]);
    else this.push(line);
  }

  /** Whoever does not read the rest within a moment does not get it. */
  end(): void {
    if (this.destroyed || this.#hasEnded) return;
    this.#hasEnded = true;
    this.push(null);
    setTimeout(() => this.emit('late'), LINGER_MS).unref();
  }
}

class Listeners {
  readonly #all = new Set<Listener>();
  readonly #onFirst: () => void;
  readonly #onNone: () => void;
  #told = uptime();

  /** `onFirst`: there is one now, and there was none; `onNone`: there is none any more. */
  constructor(onFirst: () => void, onNone: () => void) {
    this.#onFirst = onFirst;
    this.#onNone = onNone;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Milliseconds since all of them were told something. */
  get silence(): number {
    return uptime() - this.#told;
  }

  add(listener: Listener): void {
    this.#all.add(listener);
    listener.once('close', () => {
      if (this.#all.delete(listener) && this.#all.size === 0) this.#onNone();
    });
    if (this.#all.size === 1) this.#onFirst();
  }

  /** Costs nothing where nobody listens. */
  tell(event: ServiceEvent): void {
    if (this.#all.size > 0) this.tellLine(lineOf(event));
  }

  /** `id`: of the audit record that it holds. */
  tellLine(line: Buffer, id?: number): void {
    this.#told = uptime();
    for (const listener of this.#all) listener.give(line, id);
  }

  end(): void {
    for (const listener of this.#all) listener.end();
  }
}

/** How the service is, in one line for all who look at it: nothing here looks through the shelf while nothing changes. */
interface ServiceStateOptions {
  readonly activator: Activator;
  readonly shelf: Shelf;
  readonly engines: EngineRegistry;
  readonly lifecycle: Lifecycle;
  readonly history: Pick<History, 'present'>;
  /** Activations so far: with each the status of an endpoint changed. */
  readonly activations: () => number;
}

interface Counted {
  readonly set: EndpointSet;
  readonly activations: number;
  readonly revision: number;
  readonly damage: number;
  readonly catalogue: string;
  readonly endpoints: { readonly activated: number; readonly failed: number; readonly loading: number };
  readonly kos: number;
}

/** `UP`, `DEGRADED` where something does not work that should, `STARTING`, or `DOWN` when it stops. */
type Status = 'UP' | 'DEGRADED' | 'STARTING' | 'DOWN';

export class ServiceState {
  readonly #options: ServiceStateOptions;
  /** Two starts share no token. */
  readonly #start = randomBytes(6).toString('base64url');
  #changes = 0;
  #counted: Counted | undefined;

  constructor(options: ServiceStateOptions) {
    this.#options = options;
  }

  /** The same text as long as neither the shelf nor what is active changed, at the cost of a look at four figures. */
  async catalogue(): Promise<string> {
    return (await this.#count()).catalogue;
  }

  /** The same text as long as nothing changed but figures. */
  async token(): Promise<string> {
    const { catalogue } = await this.#count();
    return `${catalogue} ${this.#status}`;
  }

  async read(): Promise<ServiceEvent> {
    const { catalogue, endpoints, kos } = await this.#count();
    const { perSecond, failedPerSecond, p95 } = this.#options.history.present;
    const time = new Date().toISOString();
    return { type: 'state', time, status: this.#status, catalogue, perSecond, failedPerSecond, p95, endpoints, kos };
  }

  get #status(): Status {
    const { lifecycle, shelf, engines, activator } = this.#options;
    if (lifecycle.leaving) return 'DOWN';
    if (!lifecycle.started) return 'STARTING';
    const isWell =
      shelf.condition().problem === undefined &&
      [...engines.values()].every(
        (engine) => engine.health().status === 'UP' || activator.set.ofEngine(engine.name).length === 0,
      );
    return isWell ? 'UP' : 'DEGRADED';
  }

  async #count(): Promise<Counted> {
    const { activator, shelf, activations } = this.#options;
    const present = {
      set: activator.set,
      activations: activations(),
      revision: await shelf.revision(),
      damage: shelf.damage().length,
    };
    const known = this.#counted;
    if (known !== undefined && isSame(known, present)) return known;
    const endpoints = { activated: 0, failed: 0, loading: 0 };
    for (const { status } of present.set.endpoints) endpoints[WORDS[status]]++;
    const kos = known?.revision === present.revision ? known.kos : (await shelf.list()).length;
    return (this.#counted = { ...present, endpoints, kos, catalogue: `${this.#start}-${++this.#changes}` });
  }
}

type Present = Pick<Counted, 'set' | 'activations' | 'revision' | 'damage'>;

const isSame = (a: Present, b: Present): boolean =>
  a.set === b.set && a.activations === b.activations && a.revision === b.revision && a.damage === b.damage;

const WORDS = { LOADED: 'loading', ACTIVATED: 'activated', FAILED_TO_ACTIVATE: 'failed' } as const;

/** `GET /actuator/events`: what happens in the service, as lines of JSON, as long as somebody reads them. */
interface EventRouteOptions {
  readonly events: ServiceEvents;
  readonly lifecycle: Pick<Lifecycle, 'left' | 'leaving'>;
}

const MOST_LISTENERS = 200;
/** Milliseconds after which a stream ends by itself, so that nobody listens on with a login that is gone. */
const LONGEST_MS = 300_000;

export function eventRoutes(app: FastifyInstance, { events, lifecycle }: EventRouteOptions): void {
  lifecycle.left.addEventListener('abort', () => events[Symbol.dispose](), { once: true });
  app.addHook('onClose', (_app, done) => {
    events[Symbol.dispose]();
    done();
  });

  const listen = (request: FastifyRequest, reply: FastifyReply): unknown => {
    const after = numberIn(request, 'after', Number.MAX_SAFE_INTEGER);
    if (lifecycle.leaving) throw overloaded('The service is stopping', 5);
    if (events.listeners >= MOST_LISTENERS)
      throw overloaded(`${MOST_LISTENERS} listen to the events already; try again later`, 30);
    const listener = events.listen(after);
    const { until = Infinity } = request.principal;
    const timer = setTimeout(() => listener.end(), Math.max(0, Math.min(LONGEST_MS, until - Date.now()))).unref();
    // Also where its client goes.
    reply.raw.once('close', () => listener.destroy());
    listener.once('late', () => reply.raw.destroy());
    listener.once('close', () => clearTimeout(timer));
    void reply.type('application/x-ndjson; charset=utf-8').headers({
      'cache-control': 'no-store',
      // Proxies would wait for the whole of it.
      'x-accel-buffering': 'no',
    });
    return reply.send(listener);
  };
  declare(app, '/actuator/events', { GET: { access: 'info', handler: listen, head: false } });
}
