/** What is written of requests that were refused: the audit has changes, the log has logins that were wrong. */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { WrongLogin } from '../../identity/login.ts';
import { escapeForMessage } from '../../lib/text.ts';
import { uptime } from '../../lib/time.ts';
import type { AuditRecord } from '../../shelf/audit/audit-store.ts';
import type { Audit } from '../../shelf/audit/audit.ts';
import type { LoginRefusal } from './access.ts';
import { askedIn, auditNothing } from './audit.ts';

/** Why a change was refused. */
export type ChangeRefusal = LoginRefusal | 'cross-site';

/** Refused records take at most this part of what the audit may take, in this time. */
const SHARE = 1 / 8;
const SHARE_MS = 30 * 24 * 3_600_000;
const RECORD_BYTES = 600;
const MOST_AT_ONCE = 64;
const LONGEST_STOP_MS = 5000;

/** `most`: bytes of the audit. */
export function allowanceOf(most: number): Allowance {
  const records = Math.max(1, Math.floor((most * SHARE) / RECORD_BYTES));
  return { most: Math.min(MOST_AT_ONCE, records), every: SHARE_MS / records };
}

interface RefusedLogin extends WrongLogin {
  readonly requestId: string;
}

export class RefusedRequests implements AsyncDisposable {
  readonly #audit: Audit;
  readonly #changes: RefusalCounter<Omit<AuditRecord, 'remoteAddress' | 'reason' | 'times'>>;
  readonly #logins: RefusalCounter<RefusedLogin>;

  constructor(audit: Audit, log: FastifyBaseLogger, allowance: Allowance | undefined) {
    this.#audit = audit;
    this.#changes = new RefusalCounter({
      ...(allowance && { allowance }),
      tell: ({ reason, address: remoteAddress, first, times }) =>
        audit.write({ ...first, reason, times, remoteAddress }),
    });
    this.#logins = new RefusalCounter({
      tell: ({ reason, address: remoteAddress, first, times }) =>
        log.warn({ event: 'login-refused', reason, ...first, times, remoteAddress }, 'a login was refused'),
    });
  }

  /** A change was refused: its answer writes no record of its own. */
  change(request: FastifyRequest, reason: ChangeRefusal): void {
    auditNothing(request);
    this.#changes.add(reason, request.ip, () => ({
      who: request.principal.name,
      login: request.principal.kind,
      ...askedIn(request),
      outcome: reason === 'unchecked' ? 'failed' : 'refused',
      requestId: request.id,
    }));
  }

  login(request: FastifyRequest, reason: LoginRefusal, { user, cause }: WrongLogin): void {
    this.#logins.add(reason, request.ip, () => ({
      ...(user !== undefined && { user: escapeForMessage(user) }),
      cause: escapeForMessage(cause),
      requestId: request.id,
    }));
  }

  /** Writes what is counted. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#changes[Symbol.dispose]();
    this.#logins[Symbol.dispose]();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LONGEST_STOP_MS);
    await Promise.race([this.#audit.settled(), promise]);
    clearTimeout(timer);
  }
}

// Refused requests cost nobody anything to send, so they are counted and told together: at most once a minute for each
// reason and address, after the answer, in bounded memory.

/** Between two summaries of one reason and address. */
const PERIOD_MS = 60_000;
/** Addresses and reasons that are told apart; the rest is counted as `others`. */
const MOST_APART = 64;
/** Between two summaries: writing them never takes the service from its requests for long. */
const PAUSE_MS = 50;
const LONGEST_ADDRESS = 64;
const OTHERS = 'others';

/** Refusals of one reason and address since the last summary of them. */
export interface Refusals<T> {
  readonly reason: string;
  /** Or `others`. */
  readonly address: string;
  /** What the first of them was. */
  readonly first: T;
  readonly times: number;
}

interface Counted<T> {
  readonly reason: string;
  readonly address: string;
  first: T;
  times: number;
  /** When it may be told. */
  due: number;
}

/** How many summaries may be told: `most` at once, then one `every` so many milliseconds. */
export interface Allowance {
  readonly most: number;
  readonly every: number;
}

interface RefusalCounterOptions<T> {
  readonly tell: (refusals: Refusals<T>) => void;
  readonly allowance?: Allowance;
  readonly now?: () => number;
}

export class RefusalCounter<T> implements Disposable {
  readonly #options: RefusalCounterOptions<T>;
  readonly #now: () => number;
  readonly #counted = new Map<string, Counted<T>>();
  #timer: NodeJS.Timeout | undefined;
  #allowed: number;
  #allowedAt: number;

  constructor(options: RefusalCounterOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? uptime;
    this.#allowed = options.allowance?.most ?? 0;
    this.#allowedAt = this.#now();
  }

  /** `from`: undefined where the connection has gone already. `first` is asked only where it is told. */
  add(reason: string, from: string | undefined, first: () => T): void {
    const address = (from ?? 'gone').slice(0, LONGEST_ADDRESS);
    const key = `${reason} ${address}`;
    const rest = `${reason} ${OTHERS}`;
    const known = this.#counted.get(key) ?? (this.#counted.size < MOST_APART ? undefined : this.#counted.get(rest));
    if (known !== undefined) {
      if (known.times === 0) known.first = first();
      known.times++;
    } else {
      const isApart = this.#counted.size < MOST_APART;
      const counted = { reason, address: isApart ? address : OTHERS, first: first(), times: 1, due: this.#now() };
      this.#counted.set(isApart ? key : rest, counted);
      // What others wait for is later.
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#timer ??= setTimeout(() => this.#tellNext(), PAUSE_MS).unref();
  }

  /** Tells what has not been told yet. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const counted of this.#counted.values()) this.#tell(counted);
    this.#counted.clear();
  }

  #tellNext(): void {
    const now = this.#now();
    for (const [key, { times, due }] of this.#counted) if (times === 0 && due <= now) this.#counted.delete(key);
    const all = [...this.#counted.values()].sort((a, b) => a.due - b.due);
    const next = all.find(({ times, due }) => times > 0 && due <= now);
    if (next !== undefined && this.#isAllowed(now)) {
      this.#tell(next);
      next.due = now + PERIOD_MS;
    }
    // What is due and not allowed yet is looked at once a period.
    const wait = next?.times === 0 ? PAUSE_MS : next === undefined ? (all[0]?.due ?? now) - now : PERIOD_MS;
    this.#timer = all.length === 0 ? undefined : setTimeout(() => this.#tellNext(), Math.max(PAUSE_MS, wait)).unref();
  }

  #tell(counted: Counted<T>): void {
    const { reason, address, first, times } = counted;
    counted.times = 0;
    if (times > 0) this.#options.tell({ reason, address, first, times });
  }

  #isAllowed(now: number): boolean {
    const { allowance } = this.#options;
    if (allowance === undefined) return true;
    this.#allowed = Math.min(allowance.most, this.#allowed + (now - this.#allowedAt) / allowance.every);
    this.#allowedAt = now;
    if (this.#allowed < 1) return false;
    this.#allowed--;
    return true;
  }
}
