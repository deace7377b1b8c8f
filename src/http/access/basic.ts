/** HTTP Basic (RFC 7617). */
import { startRefused } from '../../lib/errors.ts';
import { sameSecret } from '../../lib/same-secret.ts';
import type { BasicOptions } from './access.ts';
import type { Principal } from './principal.ts';

/** Gives the principal for what follows `Basic ` in an `Authorization` header; undefined when it does not fit. */
export type BasicCheck = (credentials: string) => Principal | undefined;

/** @throws startRefused for a user or password that would let everybody in or nobody. */
export function createBasicCheck(options: BasicOptions): BasicCheck {
  const password = options.password.reveal();
  if (options.user === '' || options.user.includes(':')) {
    throw startRefused('--user (KGRID_USER) must be a name without a colon, which HTTP Basic cannot carry');
  }
  if (password === '') throw startRefused('--password (KGRID_PASSWORD) must not be empty');

  const isUser = sameSecret(composed(options.user));
  const isPassword = sameSecret(composed(password));
  const principal: Principal = { name: options.user, kind: 'basic', scopes: [] };

  return (credentials) => {
    const given = parse(credentials);
    if (given === undefined) return undefined;
    // A wrong name takes as long as a wrong password: both comparisons always run, and `&` waits for both.
    const user = isUser(composed(given.user));
    const secret = isPassword(composed(given.password));
    return Number(user) & Number(secret) ? principal : undefined;
  };
}

/** The name in credentials; undefined where they cannot be read. */
export const userIn = (credentials: string): string | undefined => parse(credentials)?.user;

/** One letter may be typed as one code point or as two, so both sides are compared composed (RFC 8265). */
const composed = (text: string): string => text.normalize('NFC');

function parse(credentials: string): { user: string; password: string } | undefined {
  // `Buffer.from` skips what is not base64; a header must be read in one way only.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) return undefined;
  const text = Buffer.from(credentials, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
