/** Who asks, and what they may: a request becomes a principal, and each permission is asked for here alone. */
import type { IncomingHttpHeaders } from 'node:http';
import { DEADLINE_HEADER, TOKEN_HEADER } from '../engines/call-headers.ts';
import type { CallTokens } from '../engines/call-token.ts';
import type { ServiceError } from '../lib/errors.ts';
import { uptime } from '../lib/time.ts';
import { Grants, type Resource } from './grants.ts';
import { type Credentials, type Identified, Login, type LoginOptions } from './login.ts';
import type { Permission, Role } from './permissions.ts';
import type { PrincipalLimits } from './principal-limits.ts';
import { ANONYMOUS, DEV, type Principal } from './principal.ts';

export type { Resource } from './grants.ts';

/** What everybody may. */
export const ANONYMOUS_LEVELS = ['operator', 'caller', 'reader', 'none'] as const satisfies readonly (Role | 'none')[];
export type AnonymousLevel = (typeof ANONYMOUS_LEVELS)[number];

export interface IdentityOptions extends LoginOptions {
  readonly profile: 'dev' | 'secure';
  readonly anonymous: AnonymousLevel;
  /** Metrics are for everybody. */
  readonly openMetrics?: boolean;
  readonly tokens: CallTokens;
  readonly limits?: PrincipalLimits | undefined;
}

const MILLISECONDS = /^\d{1,12}$/;

export class Identity {
  /** Who sends a request without credentials. */
  readonly anybody: Principal;
  /** Whether somebody may do something to a resource. */
  readonly allows: (principal: Principal, permission: Permission, resource: Resource) => boolean;
  /** How much a principal may ask for; undefined: as much as it likes. */
  readonly limits: PrincipalLimits | undefined;
  readonly #tokens: CallTokens;
  /** None where everybody is an operator. */
  readonly #login: Login | undefined;
  /** By principal as it was verified: with what everybody may. */
  readonly #whole = new WeakMap<Principal, Principal>();

  /** @throws startRefused for settings with which no login can work. */
  constructor(options: IdentityOptions) {
    const { profile, anonymous, openMetrics = false } = options;
    this.limits = options.limits;
    this.#tokens = options.tokens;
    const isOpen = anonymous === 'operator';
    const level = anonymous === 'none' ? [] : [anonymous];
    const grants = Grants.of([...level, ...(openMetrics ? ['metrics'] : [])]);
    this.anybody = isOpen && profile === 'dev' ? DEV : Object.freeze({ ...ANONYMOUS, grants });
    this.#login = isOpen ? undefined : new Login(options);
    this.allows = (principal, permission, resource) => principal.grants.allow(permission, resource);
  }

  /** Whether a login makes a difference. */
  get hasLogin(): boolean {
    return this.#login !== undefined;
  }

  /**
   * Reads who asks. @throws loginUnavailable when a token cannot be checked, because its issuer does not answer;
   * tooManyTries.
   */
  async identify(credentials: Credentials): Promise<Identified> {
    if (this.#login === undefined) return { principal: this.anybody };
    const identified = await this.#login.identify(credentials);
    const { principal } = identified;
    return principal === undefined ? identified : { ...identified, principal: this.#withAnybodys(principal) };
  }

  /** Who was verified a moment ago with the same credentials, without anything to wait for. */
  known(authorization: string): Principal | undefined {
    if (this.#login === undefined) return this.anybody;
    const principal = this.#login.verified(authorization);
    return principal === undefined ? undefined : this.#withAnybodys(principal);
  }

  /**
   * Who makes a call: "Depth (16) and the time that is left travel with the call." What headers say counts "only together
   * with a signed token that the activator gave out with the call".
   */
  caller(headers: IncomingHttpHeaders, principal: Principal): Principal {
    const token = headers[TOKEN_HEADER];
    const origin = token === undefined ? undefined : this.#tokens.read(token);
    if (origin === undefined) return principal;
    const said = headers[DEADLINE_HEADER];
    const left = typeof said === 'string' && MILLISECONDS.test(said) ? Number(said) : Infinity;
    const deadline = Math.min(origin.deadline, uptime() + left);
    const kind = principal === this.anybody ? 'call' : principal.kind;
    return { ...principal, kind, origin: { depth: origin.depth + 1, deadline } };
  }

  /** What somebody gets who may not. `authorization` is the header that came, undefined for none. */
  refusal(principal: Principal | undefined, authorization: string | undefined): ServiceError {
    if (this.#login === undefined) throw new Error('Where everybody is an operator, nobody is refused');
    return principal === undefined || principal === this.anybody
      ? this.#login.refusal(authorization)
      : this.#login.grantRefusal(principal);
  }

  #withAnybodys(principal: Principal): Principal {
    let whole = this.#whole.get(principal);
    if (whole === undefined) {
      whole = Object.freeze({ ...principal, grants: principal.grants.and(this.anybody.grants) });
      this.#whole.set(principal, whole);
    }
    return whole;
  }
}
