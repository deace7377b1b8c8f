/** What is written of requests that were refused: the audit has changes, the log has logins that were wrong. */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import type { Audit } from '../../shelf/audit/audit.ts';
import type { AuditRecord } from '../../shelf/audit/audit-store.ts';
import type { WrongLogin } from '../../identity/login.ts';
import type { LoginRefusal } from './access.ts';
import { askedIn, auditNothing } from './audit.ts';
import { RefusalCounter, type Allowance } from './refusals.ts';

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
