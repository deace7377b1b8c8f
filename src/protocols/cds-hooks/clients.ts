/** Whose hook request it is: the JWT of a CDS client ("Trusting CDS Clients"), verified where the operator lists clients. */
import type * as Jose from 'jose';
import { loginUnavailable, notAuthenticated, startRefused } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/host-port.ts';

const ALGORITHMS = ['ES384', 'RS384', 'ES256', 'RS256', 'ES512', 'RS512', 'PS256', 'PS384', 'PS512', 'EdDSA'];
const MOST_TOKEN_CHARACTERS = 8192;
/** A token is good for minutes at most, so that what is remembered of it can be forgotten. */
const LONGEST_SECONDS = 15 * 60;
const CLOCK_SKEW_SECONDS = 60;
const TIMEOUT_MS = 3000;
const MOST_REMEMBERED = 100_000;

export class HookClients {
  /** Where the keys of an issuer are. */
  readonly #issuers: ReadonlyMap<string, string>;
  readonly #keys = new Map<string, Jose.JWTVerifyGetKey>();
  /** Tokens that were used, until they count no more: milliseconds since 1970, by issuer and `jti`. */
  readonly #used = new Map<string, number>();

  /** `listed`: `<issuer>=<address of its key set>`. @throws startRefused. */
  constructor(listed: readonly string[]) {
    this.#issuers = new Map(listed.map(parseClient));
  }

  /** The issuer of the token in an `Authorization` header. @throws notAuthenticated; loginUnavailable. */
  async require(authorization: string | undefined, audience: string): Promise<string> {
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
    if (token === undefined)
      throw refused('This service is for CDS clients that its operator lists: send their JWT as a Bearer token');
    if (token.length > MOST_TOKEN_CHARACTERS) throw refused('The token is too long');
    const jose = await import('jose');
    try {
      // Nobody can make this service ask an issuer that is not listed.
      const { iss = '' } = jose.decodeJwt(token);
      const address = this.#issuers.get(iss);
      if (address === undefined) throw refused('The issuer of the token is no CDS client that is listed here');
      let key = this.#keys.get(iss);
      if (key === undefined)
        this.#keys.set(iss, (key = jose.createRemoteJWKSet(new URL(address), { timeoutDuration: TIMEOUT_MS })));
      const { payload } = await jose.jwtVerify(token, key, {
        issuer: iss,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_SKEW_SECONDS,
        maxTokenAge: LONGEST_SECONDS,
        requiredClaims: ['exp', 'iat', 'jti'],
      });
      this.#requireNew(iss, payload);
      return iss;
    } catch (thrown) {
      if (thrown instanceof jose.errors.JOSEError && !(thrown instanceof jose.errors.JWKSTimeout))
        throw refused(`The token of the CDS client is not accepted: ${thrown.message}`);
      if (thrown instanceof TypeError || thrown instanceof jose.errors.JWKSTimeout)
        throw loginUnavailable('The keys of the CDS client cannot be fetched at the moment; try again later', {
          cause: thrown,
        });
      throw thrown;
    }
  }

  /** "The jti … SHALL be used to ensure that a JWT is not replayed." @throws notAuthenticated. */
  #requireNew(issuer: string, { jti = '' }: Jose.JWTPayload): void {
    const now = Date.now();
    const key = JSON.stringify([issuer, jti]);
    if ((this.#used.get(key) ?? 0) > now)
      throw refused('The token was used before: each request needs one with a jti of its own');
    for (const [each, until] of this.#used) {
      if (until > now && this.#used.size < MOST_REMEMBERED) break;
      this.#used.delete(each);
    }
    this.#used.set(key, now + (LONGEST_SECONDS + CLOCK_SKEW_SECONDS) * 1000);
  }
}

const refused = (message: string): Error =>
  notAuthenticated(message, { headers: { 'www-authenticate': 'Bearer realm="cds-hooks", error="invalid_token"' } });

function parseClient(listed: string): [string, string] {
  const at = listed.indexOf('=');
  const [issuer, address] = [listed.slice(0, at), listed.slice(at + 1)];
  const url = at > 0 ? URL.parse(address) : null;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return [issuer, address];
  throw startRefused(
    `--cds-clients (KGRID_CDS_CLIENTS) must be <issuer>=<https address of its key set>, such as https://ehr.example.org=https://ehr.example.org/jwks.json: ${listed}`,
  );
}
