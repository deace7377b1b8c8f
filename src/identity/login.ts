/** Reads who asks, by the ways of login that are configured and the accounts of the store. */
import { createHmac, randomBytes } from 'node:crypto';
import { loginUnavailable, notAuthenticated, notAuthorized, tooManyTries, type ServiceError } from '../lib/errors.ts';
import type { Secret } from '../lib/secret.ts';
import type { Accounts } from './accounts.ts';
import { createBasicCheck, parseBasic } from './basic.ts';
import type { BasicCredentials } from './basic.ts';
import { createBearerCheck } from './bearer.ts';
import type { ClaimGrant } from './claims.ts';
import { Grants } from './grants.ts';
import { IssuerUnavailable } from './issuer.ts';
import { isSameHash, nameOfKey, parseKey } from './keys.ts';
import { Passwords } from './passwords.ts';
import type { Principal } from './principal.ts';
import { Tries } from './tries.ts';

const RETRY_AFTER_SECONDS = 10;
/** Milliseconds for which what was verified counts without another look. */
const COUNTS_FOR_MS = 4000;
/** Credentials that are remembered. */
const MOST_VERIFIED = 10_000;

export interface BasicOptions {
  readonly user: string;
  readonly password: Secret;
  /** Reads the password again, where it stands in a file. @throws Error where it cannot be read now. */
  readonly again?: (() => Secret) | undefined;
}

export interface Issuer {
  /** Its address, https or on loopback. */
  readonly issuer: string;
  /** What a token's `aud` must hold. */
  readonly audience: string;
}

export interface OauthOptions extends Issuer {
  readonly others?: readonly Issuer[];
  /** What a token must hold to write, activate and register; several are divided by spaces and all needed. */
  readonly scope?: string;
  /** What tokens give, in place of `scope`. */
  readonly grants?: readonly ClaimGrant[];
  /** The claim that names the principal. */
  readonly nameClaim?: string;
}

/** The ways of login. */
export interface LoginOptions {
  readonly basic?: BasicOptions | undefined;
  readonly oauth?: OauthOptions | undefined;
  /** Grants of client certificates, by the common name of their subject. */
  readonly certificates?: ReadonlyMap<string, Grants> | undefined;
  readonly accounts?: Pick<Accounts, 'version' | 'user' | 'key' | 'users' | 'keys'> | undefined;
  readonly log: { warn(facts: object, message: string): void };
}

/** What came with a request. */
export interface Credentials {
  /** The header. */
  readonly authorization: string | undefined;
  readonly address?: string | undefined;
  /** The common name of a client certificate that was verified. */
  readonly certificate?: string | undefined;
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

interface Verified {
  readonly principal: Principal;
  /** By `performance.now()`. */
  readonly until: number;
  /** Of the accounts. */
  readonly version: number;
}

/** @throws startRefused for settings with which no login can work. */
export class Login {
  readonly #options: LoginOptions;
  readonly #checkBasic: ((given: BasicCredentials) => Principal | undefined) | undefined;
  readonly #checkBearer: ReturnType<typeof createBearerCheck> | undefined;
  readonly #scopes: readonly string[];
  readonly #passwords = new Passwords();
  readonly #tries = new Tries();
  /** Of this process: what is remembered of credentials is worth nothing elsewhere. */
  readonly #processKey = randomBytes(32);
  readonly #verified = new Map<string, Verified>();
  /** Pairs of account and address that were right before: they wait for no others. */
  readonly #known = new Map<string, true>();

  constructor(options: LoginOptions) {
    const { basic, oauth, log } = options;
    this.#options = options;
    this.#checkBasic =
      basic &&
      createBasicCheck(basic, (cause) =>
        log.warn(
          { event: 'password-not-read', cause },
          'the password of --password-file cannot be read again: the last one counts',
        ),
      );
    this.#checkBearer = oauth && createBearerCheck(oauth);
    this.#scopes = oauth?.scope?.split(' ').filter((scope) => scope !== '') ?? [];
  }

  /** Who was verified a moment ago with the same credentials. */
  verified(authorization: string): Principal | undefined {
    const found = this.#verified.get(this.#keyOf(authorization));
    if (found === undefined || found.until < performance.now() || found.version !== this.#version) return undefined;
    return found.principal;
  }

  /** @throws loginUnavailable when a token cannot be checked, because its issuer does not answer; tooManyTries. */
  async identify({ authorization, address = '', certificate }: Credentials): Promise<Identified> {
    if (authorization === undefined) return certificate === undefined ? {} : this.#ofCertificate(certificate);
    const known = this.verified(authorization);
    if (known !== undefined) return { principal: known };
    const version = this.#version;
    const identified = await this.#check(authorization, address);
    const { principal } = identified;
    if (principal !== undefined) this.#remember(authorization, principal, version);
    return identified;
  }

  /** What a caller without valid credentials gets: the same whatever was wrong with them. */
  refusal(authorization: string | undefined): ServiceError {
    return notAuthenticated(messageFor(this.#options, this.#hasAccounts), {
      headers: { 'www-authenticate': challenge(this.#options, this.#hasAccounts, partsOf(authorization)[0]) },
    });
  }

  /** What a principal gets that lacks a grant. */
  grantRefusal({ name, kind }: Principal): ServiceError {
    if (kind !== 'oauth' || this.#options.oauth?.grants !== undefined || this.#scopes.length === 0)
      return notAuthorized(`${name} may not do this here: it needs a grant that ${name} does not have`);
    const scope = this.#scopes.join(' ');
    return notAuthorized(`The token lacks the scope ${scope}, which this operation needs`, {
      headers: { 'www-authenticate': `Bearer realm="kgrid", error="insufficient_scope", scope="${scope}"` },
    });
  }

  get #version(): number {
    return this.#options.accounts?.version ?? 0;
  }

  get #hasAccounts(): boolean {
    const { accounts } = this.#options;
    return accounts !== undefined && (accounts.users.length > 0 || accounts.keys.length > 0);
  }

  #ofCertificate(name: string): Identified {
    const grants = this.#options.certificates?.get(name) ?? Grants.NONE;
    return { principal: { name, kind: 'certificate', grants } };
  }

  async #check(authorization: string, address: string): Promise<Identified> {
    const [scheme, credentials] = partsOf(authorization);
    if (scheme === 'basic') {
      const given = parseBasic(credentials);
      const key = given === undefined ? undefined : parseKey(given.password);
      if (key !== undefined) return this.#ofKey(key);
      if (this.#checkBasic !== undefined || this.#hasAccounts) return this.#ofPassword(given, address);
    }
    if (scheme === 'bearer') {
      const key = parseKey(credentials);
      if (key !== undefined) return this.#ofKey(key);
      if (this.#checkBearer !== undefined) return this.#ofToken(credentials);
    }
    return { wrong: { cause: 'no login of that kind is configured' } };
  }

  #ofKey({ prefix, hash }: { readonly prefix: string; readonly hash: string }): Identified {
    const user = nameOfKey(prefix);
    const wrong = (cause: string): Identified => ({ wrong: { user, cause } });
    const key = this.#options.accounts?.key(prefix);
    if (key === undefined || !isSameHash(key.hash, hash)) return wrong('the key is not known');
    if (key.revoked !== undefined) return wrong('the key was revoked');
    if (key.expires !== undefined && key.expires <= Date.now()) return wrong('the key has expired');
    const until = key.expires === undefined ? {} : { until: key.expires };
    return { principal: { name: user, kind: 'key', grants: key.grants, ...until } };
  }

  async #ofPassword(given: BasicCredentials | undefined, address: string): Promise<Identified> {
    if (given === undefined) return { wrong: { cause: 'wrong user or password' } };
    const user = given.user.normalize('NFC');
    const isPaused = (): boolean => this.#tries.pause(user, address) > 0;
    if (isPaused()) throw tooManyTries(Math.ceil(this.#tries.pause(user, address) / 1000));
    const principal = this.#checkBasic?.(given) ?? (await this.#ofUser(user, given.password, address, isPaused));
    const pair = `${address} ${user}`;
    if (principal === undefined) {
      this.#tries.failed(user, address);
      return { wrong: { user: given.user, cause: 'wrong user or password' } };
    }
    this.#tries.succeeded(user, address);
    put(this.#known, pair, true);
    return { principal };
  }

  /** Takes as long for a name that nobody has. @throws tooManyTries. */
  async #ofUser(
    name: string,
    password: string,
    address: string,
    isPaused: () => boolean,
  ): Promise<Principal | undefined> {
    const { accounts } = this.#options;
    if (accounts === undefined || accounts.users.length === 0) return undefined;
    const pair = `${address} ${name}`;
    const line = this.#known.has(pair) ? pair : address;
    const kept = accounts.user(name)?.password ?? '';
    let isTooLate = false;
    const isRight = await this.#passwords.fits(password, kept, line, () => !(isTooLate = isPaused()));
    if (isTooLate) throw tooManyTries(Math.ceil(this.#tries.pause(name, address) / 1000));
    // It may have been removed, or have got another password, meanwhile.
    const user = accounts.user(name);
    if (!isRight || user?.password !== kept) return undefined;
    return { name: user.name, kind: 'basic', grants: user.grants };
  }

  async #ofToken(token: string): Promise<Identified> {
    if (this.#checkBearer === undefined) return { wrong: { cause: 'no login of that kind is configured' } };
    try {
      const checked = await this.#checkBearer(token);
      return 'principal' in checked ? checked : { wrong: { cause: checked.refused } };
    } catch (cause) {
      if (!(cause instanceof IssuerUnavailable)) throw cause;
      throw loginUnavailable('The token cannot be checked, since its issuer does not answer; try again later', {
        cause,
        headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      });
    }
  }

  #remember(authorization: string, principal: Principal, version: number): void {
    const left = (principal.until ?? Infinity) - Date.now();
    const until = performance.now() + Math.min(COUNTS_FOR_MS, left);
    put(this.#verified, this.#keyOf(authorization), { principal, until, version });
  }

  #keyOf(authorization: string): string {
    return createHmac('sha256', this.#processKey).update(authorization).digest('base64');
  }
}

function put<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > MOST_VERIFIED ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
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
function challenge({ basic, oauth }: LoginOptions, hasAccounts: boolean, scheme: string): string {
  const takesBasic = basic !== undefined || hasAccounts;
  const bearer = oauth && scheme === 'bearer' ? 'Bearer realm="kgrid", error="invalid_token"' : 'Bearer realm="kgrid"';
  return [
    ...(takesBasic ? ['Basic realm="kgrid", charset="UTF-8"'] : []),
    ...(oauth || !takesBasic ? [bearer] : []),
  ].join(', ');
}

function messageFor({ basic, oauth }: LoginOptions, hasAccounts: boolean): string {
  const ways = [
    ...(basic || hasAccounts ? ['user and password (HTTP Basic)'] : []),
    ...(hasAccounts ? ['an API key'] : []),
    ...(oauth ? ['an OAuth 2.0 bearer token'] : []),
  ];
  return ways.length > 0
    ? `This operation needs a login that is valid here: ${ways.join(' or ')}`
    : 'This operation needs a login, and none is configured: set --user and --password (KGRID_USER, KGRID_PASSWORD), ' +
        'or --oauth-issuer and --oauth-audience (KGRID_OAUTH_ISSUER, KGRID_OAUTH_AUDIENCE)';
}
