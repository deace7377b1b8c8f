/** OAuth 2.0 bearer tokens (RFC 6750) that are signed JWTs. */
import type * as Jose from 'jose';
import type { OauthOptions } from './login.ts';
import { createIssuer, withoutSlash } from './issuer.ts';
import type { Principal } from './principal.ts';

/**
 * Only algorithms with a public key: with `none` nothing is signed, and with HS256 whoever knows the public key
 * could sign with its text.
 */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const CLOCK_SKEW_SECONDS = 60;
const MAX_TOKEN_LENGTH = 8_192;
const MAX_NAME_LENGTH = 200;
const KEY_COOLDOWN_MS = 10_000;

/**
 * Gives the principal of a token, or the reason why it is none, which never holds anything of the token.
 * Rejects with IssuerUnavailable when the token cannot be checked.
 */
export type BearerCheck = (token: string) => Promise<{ principal: Principal } | { refused: string }>;

/** @throws startRefused for an issuer address that is not https, loopback excepted. */
export function createBearerCheck(options: OauthOptions, keyCooldownMs = KEY_COOLDOWN_MS): BearerCheck {
  // Loaded for those who configure it, and before the first token comes.
  const loading = import('jose');
  const keysOfIssuer = createIssuer(options.issuer, keyCooldownMs);

  return async (token) => {
    const jose = await loading;
    try {
      // What cannot be right in any case is refused before the issuer gets asked, so that nobody can make this
      // service send requests by sending it garbage.
      const fault = faultOf(token, options.issuer, jose);
      if (fault !== undefined) return { refused: fault };
      const { issuer, key } = await keysOfIssuer();
      const { payload } = await jose.jwtVerify(token, key, {
        issuer,
        audience: options.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_SKEW_SECONDS,
        requiredClaims: ['exp'],
      });
      const until = 1000 * ((payload.exp ?? 0) + CLOCK_SKEW_SECONDS);
      return { principal: { name: nameOf(payload), kind: 'oauth', scopes: scopesOf(payload), until } };
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) return { refused: error.message };
      throw error;
    }
  };
}

function faultOf(token: string, issuer: string, jose: typeof Jose): string | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return `the token is longer than ${MAX_TOKEN_LENGTH} characters`;
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return 'the token is not a signed JWT';
  let algorithm: unknown;
  let claims: Jose.JWTPayload;
  try {
    algorithm = jose.decodeProtectedHeader(token).alg;
    claims = jose.decodeJwt(token);
  } catch {
    return 'the token is not a signed JWT';
  }
  if (!ALGORITHMS.some((allowed) => allowed === algorithm))
    return 'the token is signed by an algorithm that is not allowed';
  if (typeof claims.iss !== 'string' || withoutSlash(claims.iss) !== withoutSlash(issuer)) {
    return 'the token is of another issuer';
  }
  return undefined;
}

function nameOf(claims: Jose.JWTPayload): string {
  const name = [claims.sub, claims['client_id'], claims['azp']].find((claim) => typeof claim === 'string');
  return typeof name === 'string' ? name.slice(0, MAX_NAME_LENGTH) : 'unnamed';
}

/** `scope` is text divided by spaces (RFC 9068); some issuers write `scp`, as text or as a list. */
function scopesOf(claims: Jose.JWTPayload): string[] {
  return [claims['scope'], claims['scp']]
    .flat()
    .flatMap((claim) => (typeof claim === 'string' ? claim.split(' ') : []))
    .filter((scope) => scope !== '');
}
