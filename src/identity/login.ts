/** Reads who asks from an `Authorization` header, by the ways of login that are configured. */
import { loginUnavailable, notAuthenticated, notAuthorized, type ServiceError } from '../lib/errors.ts';
import type { Secret } from '../lib/secret.ts';
import { createBasicCheck, userIn } from './basic.ts';
import { createBearerCheck } from './bearer.ts';
import { IssuerUnavailable } from './issuer.ts';
import type { Principal } from './principal.ts';

const RETRY_AFTER_SECONDS = 10;

export interface BasicOptions {
  readonly user: string;
  readonly password: Secret;
  /** Reads the password again, where it stands in a file. @throws Error where it cannot be read now. */
  readonly again?: (() => Secret) | undefined;
}

export interface OauthOptions {
  /** The issuer's address, https or on loopback. */
  readonly issuer: string;
  /** What a token's `aud` must hold. */
  readonly audience: string;
  /** What a token must hold to write, activate and register; several are divided by spaces and all needed. */
  readonly scope?: string;
}

/** The ways of login. */
export interface LoginOptions {
  readonly basic?: BasicOptions | undefined;
  readonly oauth?: OauthOptions | undefined;
  readonly log: { warn(facts: object, message: string): void };
}

/** What was wrong with a login; never a password or a token. */
export interface WrongLogin {
  /** The name that was tried. */
  readonly user?: string;
  readonly cause: string;
}

/** Both are undefined where there are no credentials. */
export interface Identified {
  readonly principal?: Principal;
  readonly wrong?: WrongLogin;
}

export interface Login {
  /** @throws loginUnavailable when a token cannot be checked, because its issuer does not answer. */
  identify(authorization: string | undefined): Promise<Identified>;
  /** What a caller without valid credentials gets: the same whatever was wrong with them. */
  refusal(authorization: string | undefined): ServiceError;
  /** Whether a principal has the scopes that a change needs. */
  hasScopes(principal: Principal): boolean;
  /** What a principal gets that has not. */
  scopeRefusal(): ServiceError;
}

/** @throws startRefused for settings with which no login can work. */
export function createLogin(options: LoginOptions): Login {
  const { basic, oauth, log } = options;
  const checkBasic =
    basic &&
    createBasicCheck(basic, (cause) =>
      log.warn(
        { event: 'password-not-read', cause },
        'the password of --password-file cannot be read again: the last one counts',
      ),
    );
  const checkBearer = oauth && createBearerCheck(oauth);
  const neededScopes = oauth?.scope?.split(' ').filter((scope) => scope !== '') ?? [];
  const message = messageFor(options);

  return {
    async identify(authorization) {
      if (authorization === undefined) return {};
      const [scheme, credentials] = partsOf(authorization);
      if (scheme === 'basic' && checkBasic) {
        const principal = checkBasic(credentials);
        if (principal !== undefined) return { principal };
        const user = userIn(credentials);
        return { wrong: { ...(user !== undefined && { user }), cause: 'wrong user or password' } };
      }
      if (scheme !== 'bearer' || !checkBearer) return { wrong: { cause: 'no login of that kind is configured' } };
      try {
        const checked = await checkBearer(credentials);
        return 'principal' in checked ? checked : { wrong: { cause: checked.refused } };
      } catch (cause) {
        if (!(cause instanceof IssuerUnavailable)) throw cause;
        throw loginUnavailable('The token cannot be checked, since its issuer does not answer; try again later', {
          cause,
          headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
        });
      }
    },
    refusal: (authorization) =>
      notAuthenticated(message, { headers: { 'www-authenticate': challenge(options, partsOf(authorization)[0]) } }),
    hasScopes: ({ kind, scopes }) => kind !== 'oauth' || neededScopes.every((scope) => scopes.includes(scope)),
    scopeRefusal() {
      const scope = neededScopes.join(' ');
      return notAuthorized(`The token lacks the scope ${scope}, which this operation needs`, {
        headers: { 'www-authenticate': `Bearer realm="kgrid", error="insufficient_scope", scope="${scope}"` },
      });
    },
  };
}

/** The scheme in lower case and what follows it; both empty when there is no header. */
function partsOf(authorization = ''): [scheme: string, credentials: string] {
  const end = authorization.indexOf(' ');
  return end < 0 ? ['', ''] : [authorization.slice(0, end).toLowerCase(), authorization.slice(end).trim()];
}

/**
 * RFC 6750, 3.1: without a token the challenge names no error. With no login configured it names Bearer, since
 * Basic would make a browser ask for a password that does not exist.
 */
function challenge({ basic, oauth }: LoginOptions, scheme: string): string {
  const bearer = oauth && scheme === 'bearer' ? 'Bearer realm="kgrid", error="invalid_token"' : 'Bearer realm="kgrid"';
  return [...(basic ? ['Basic realm="kgrid", charset="UTF-8"'] : []), ...(oauth || !basic ? [bearer] : [])].join(', ');
}

function messageFor({ basic, oauth }: LoginOptions): string {
  const ways = [...(basic ? ['user and password (HTTP Basic)'] : []), ...(oauth ? ['an OAuth 2.0 bearer token'] : [])];
  return ways.length > 0
    ? `This operation needs a login that is valid here: ${ways.join(' or ')}`
    : 'This operation needs a login, and none is configured: set --user and --password (KGRID_USER, KGRID_PASSWORD), ' +
        'or --oauth-issuer and --oauth-audience (KGRID_OAUTH_ISSUER, KGRID_OAUTH_AUDIENCE)';
}
