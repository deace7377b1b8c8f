/** The OAuth 2.0 issuer: where its signing keys are, and the keys themselves, fetched when first needed and kept. */
import type { JWTVerifyGetKey } from 'jose';
import { messageOf, startRefused } from '../lib/errors.ts';
import { isLoopback } from '../lib/host-port.ts';

const TIMEOUT_MS = 3_000;

/** The issuer could not be asked, which says nothing about the token. */
export class IssuerUnavailable extends Error {}

export interface IssuerKeys {
  /** The issuer's own spelling of its name, which tokens carry as `iss`. */
  readonly issuer: string;
  /** Rejects with IssuerUnavailable when the keys cannot be fetched. */
  readonly key: JWTVerifyGetKey;
}

/**
 * @param keyCooldownMs an unknown key id makes the keys be fetched again, but only this long after the last time:
 *   it bounds both what forged tokens can cause at the issuer and the wait after a change of keys.
 * @returns what gives the keys; it rejects with IssuerUnavailable, and the next call tries again.
 * @throws startRefused for an address that is not https, loopback excepted.
 */
export function createIssuer(address: string, keyCooldownMs: number): () => Promise<IssuerKeys> {
  if (!isTrustworthy(address)) {
    throw startRefused(`--oauth-issuer (KGRID_OAUTH_ISSUER) must be an https address, or http on loopback: ${address}`);
  }
  let known: Promise<IssuerKeys> | undefined;
  const forget = (): void => {
    known = undefined;
  };
  return () => (known ??= discover(address, keyCooldownMs, forget));
}

async function discover(address: string, cooldownDuration: number, forget: () => void): Promise<IssuerKeys> {
  try {
    const { issuer, jwksUri } = await readMetadata(address);
    const { createRemoteJWKSet, errors } = await import('jose');
    const keys = createRemoteJWKSet(new URL(jwksUri), { timeoutDuration: TIMEOUT_MS, cooldownDuration });
    const key: JWTVerifyGetKey = async (header, token) => {
      try {
        return await keys(header, token);
      } catch (error) {
        if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error;
        // The keys may have moved, so the next token asks the issuer where they are.
        forget();
        throw new IssuerUnavailable(`${jwksUri}: ${reasonOf(error)}`, { cause: error });
      }
    };
    return { issuer, key };
  } catch (error) {
    forget();
    throw error;
  }
}

async function readMetadata(address: string): Promise<{ issuer: string; jwksUri: string }> {
  let status = 0;
  for (const url of metadataUrls(address)) {
    try {
      const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (response.ok) return parseMetadata(await response.json(), address);
      status = response.status;
    } catch (error) {
      throw new IssuerUnavailable(`${url}: ${reasonOf(error)}`, { cause: error });
    }
  }
  throw new IssuerUnavailable(`${metadataUrls(address).join(' and ')}: status ${status}`);
}

/** The place of OpenID Connect Discovery, then that of RFC 8414, which puts the path of the issuer last. */
function metadataUrls(address: string): string[] {
  const { origin, pathname } = new URL(address);
  const path = withoutSlash(pathname);
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

function parseMetadata(metadata: unknown, address: string): { issuer: string; jwksUri: string } {
  const { issuer, jwks_uri: jwksUri } = Object(metadata) as { issuer?: unknown; jwks_uri?: unknown };
  // RFC 8414, 3.3: "The 'issuer' value returned MUST be identical to the authorization server's issuer identifier".
  // Only a last slash is forgiven, which people leave out when they copy the address.
  if (typeof issuer !== 'string' || withoutSlash(issuer) !== withoutSlash(address)) {
    throw new Error(`names itself ${JSON.stringify(issuer)}`);
  }
  if (typeof jwksUri !== 'string' || !isTrustworthy(jwksUri)) throw new Error('names no jwks_uri that is https');
  return { issuer, jwksUri };
}

/** Keys that travel in the clear could be anybody's, except within one machine. */
function isTrustworthy(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

export const withoutSlash = (text: string): string => text.replace(/\/$/, '');

/** `fetch` says only "fetch failed" and keeps the reason in its cause. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);
