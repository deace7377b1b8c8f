/** Who asks, and what they may: a request becomes a principal, and each permission is asked for here alone. */
import type { IncomingHttpHeaders } from 'node:http';
import { DEADLINE_HEADER, TOKEN_HEADER } from '../engines/call-headers.ts';
import type { CallTokens } from '../engines/call-token.ts';
import type { KoId } from '../knowledge-object/id.ts';
import type { ServiceError } from '../lib/errors.ts';
import { uptime } from '../lib/time.ts';
import { createLogin, type Identified, type Login, type LoginOptions } from './login.ts';
import { isChange, needsLogin, type Permission } from './permissions.ts';
import { ANONYMOUS, DEV, type Principal } from './principal.ts';

export interface IdentityOptions extends LoginOptions {
  /** "In dev mode […], secured endpoints are not secured, and full health information is exposed." */
  readonly profile: 'dev' | 'secure';
  readonly secureExecution: boolean;
  readonly tokens: CallTokens;
}

/** The knowledge objects that a permission is asked for: a version, all of a name or naan, or, empty, the whole service. */
export type Resource = Partial<KoId>;

const MILLISECONDS = /^\d{1,12}$/;

export class Identity {
  /** Who sends a request without credentials. */
  readonly anybody: Principal;
  /**
   * Whether somebody may do something to a resource. No rule tells knowledge objects apart yet; whoever asks names them,
   * so that one can.
   */
  readonly allows: (principal: Principal, permission: Permission, resource: Resource) => boolean;
  readonly #tokens: CallTokens;
  /** None in the dev profile. */
  readonly #login: Login | undefined;

  /** @throws startRefused for settings with which no login can work. */
  constructor(options: IdentityOptions) {
    const isDev = options.profile === 'dev';
    this.anybody = isDev ? DEV : ANONYMOUS;
    this.#tokens = options.tokens;
    const login = isDev ? undefined : createLogin(options);
    this.#login = login;
    this.allows = (principal, permission) => {
      if (login === undefined || !needsLogin(permission, options.secureExecution)) return true;
      if (principal.kind === 'anonymous' || principal.kind === 'call') return false;
      return !isChange(permission) || login.hasScopes(principal);
    };
  }

  /** Reads an `Authorization` header. @throws loginUnavailable when a token cannot be checked, because its issuer does not answer. */
  async identify(authorization: string | undefined): Promise<Identified> {
    return this.#login === undefined ? { principal: this.anybody } : this.#login.identify(authorization);
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
    if (this.#login === undefined) throw new Error('The dev profile refuses nobody');
    return principal === undefined ? this.#login.refusal(authorization) : this.#login.scopeRefusal();
  }
}
