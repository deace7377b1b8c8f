/** HTTP Basic (RFC 7617). */
import { messageOf, startRefused } from '../lib/errors.ts';
import { sameSecret } from '../lib/secret.ts';
import { Grants } from './grants.ts';
import type { BasicOptions } from './login.ts';
import type { Principal } from './principal.ts';

export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** Gives the principal of the user in the settings; undefined when it does not fit. */
export type BasicCheck = (given: BasicCredentials) => Principal | undefined;

/** Milliseconds for which the password of a file counts before it is looked at again. */
const COUNTS_FOR_MS = 1000;

/**
 * `onProblem`: hears that the password cannot be read again, once for each reason; the last one counts until it can.
 * @throws startRefused for a user or password that would let everybody in or nobody.
 */
export function createBasicCheck(
  options: BasicOptions,
  onProblem: (cause: string) => void = () => undefined,
): BasicCheck {
  const password = options.password.reveal();
  if (options.user === '' || options.user.includes(':')) {
    throw startRefused('--user (KGRID_USER) must be a name without a colon, which HTTP Basic cannot carry');
  }
  if (password === '') throw startRefused('--password (KGRID_PASSWORD) must not be empty');

  const isUser = sameSecret(composed(options.user));
  const isPassword = presentPassword(password, options.again, onProblem);
  const principal: Principal = { name: options.user, kind: 'basic', grants: Grants.of(['operator']) };

  return (given) => {
    // A wrong name takes as long as a wrong password: both comparisons always run, and `&` waits for both.
    const user = isUser(composed(given.user));
    const secret = isPassword()(composed(given.password));
    return Number(user) & Number(secret) ? principal : undefined;
  };
}

/** Compares with the password as it is now. */
function presentPassword(
  first: string,
  again: BasicOptions['again'],
  onProblem: (cause: string) => void,
): () => (given: string) => boolean {
  let known = first;
  let isKnown = sameSecret(composed(first));
  let readAt = performance.now();
  let problem = '';
  return () => {
    if (again === undefined || performance.now() - readAt < COUNTS_FOR_MS) return isKnown;
    readAt = performance.now();
    try {
      const now = again().reveal();
      if (now !== known) isKnown = sameSecret(composed(now));
      known = now;
      problem = '';
    } catch (thrown) {
      const cause = messageOf(thrown);
      if (cause !== problem) onProblem(cause);
      problem = cause;
    }
    return isKnown;
  };
}

/** One letter may be typed as one code point or as two, so both sides are compared composed (RFC 8265). */
const composed = (text: string): string => text.normalize('NFC');

/** What follows `Basic ` in an `Authorization` header; undefined where it cannot be read. */
export function parseBasic(credentials: string): BasicCredentials | undefined {
  // `Buffer.from` skips what is not base64; a header must be read in one way only.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) return undefined;
  const text = Buffer.from(credentials, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
