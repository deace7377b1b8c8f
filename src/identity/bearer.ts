/** OAuth 2.0 bearer tokens (RFC 6750) that are signed JWTs. */
import type * as Jose from 'jose';
import { grantsOf, nameOf } from './claims.ts';
import type { Issuer, OauthOptions } from './login.ts';
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
  const issuers = new Map(
    [options, ...(options.others ?? [])].map((each) => [
      withoutSlash(each.issuer),
      { audience: each.audience, keys: createIssuer(each.issuer, keyCooldownMs) },
    ]),
  );

  return async (token) => {
    const jose = await loading;
    try {
      // What cannot be right in any case is refused before the issuer gets asked, so that nobody can make this
      // service send requests by sending it garbage.
      const read = issuerIn(token, jose);
      if ('fault' in read) return { refused: read.fault };
      const known = issuers.get(read.issuer);
      if (known === undefined) return { refused: 'the token is of another issuer' };
      const { issuer, key } = await known.keys();
      const { payload } = await jose.jwtVerify(token, key, {
        issuer,
        audience: known.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_SKEW_SECONDS,
        requiredClaims: ['exp'],
      });
      const until = 1000 * ((payload.exp ?? 0) + CLOCK_SKEW_SECONDS);
      const grants = grantsOf(payload, read.issuer, options);
      return { principal: { name: nameOf(payload, options.nameClaim), kind: 'oauth', grants, until } };
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) return { refused: error.message };
      throw error;
    }
  };
}

/** The issuer that a token names, which nothing proves yet, without a slash at its end. */
function issuerIn(token: string, jose: typeof Jose): Pick<Issuer, 'issuer'> | { fault: string } {
  if (token.length > MAX_TOKEN_LENGTH) return { fault: `the token is longer than ${MAX_TOKEN_LENGTH} characters` };
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return { fault: 'the token is not a signed JWT' };
  let algorithm: unknown;
  let claims: Jose.JWTPayload;
  try {
    algorithm = jose.decodeProtectedHeader(token).alg;
    claims = jose.decodeJwt(token);
  } catch {
    return { fault: 'the token is not a signed JWT' };
  }
  if (!ALGORITHMS.some((allowed) => allowed === algorithm))
    return { fault: 'the token is signed by an algorithm that is not allowed' };
  return typeof claims.iss === 'string'
    ? { issuer: withoutSlash(claims.iss) }
    : { fault: 'the token is of another issuer' };
}
