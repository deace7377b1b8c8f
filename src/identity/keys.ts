/** API keys: `kgk_<prefix>_<secret>`. The prefix names a key in logs; of the secret only a hash is kept. */
import { createHash, randomInt, timingSafeEqual } from 'node:crypto';

const PREFIX_CHARACTERS = 10;
/** 43 of 62 are 256 bits: nobody guesses one, so that a plain hash is enough. */
const SECRET_CHARACTERS = 43;
const FORM = /^kgk_([0-9a-z]{10})_([0-9A-Za-z]{43})$/;
const PREFIX_FORM = /^[0-9a-z]{10}$/;

const LOWER = '0123456789abcdefghijklmnopqrstuvwxyz';
const ALL = `${LOWER}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

export interface NewKey {
  readonly prefix: string;
  /** The whole of it, which is shown once. */
  readonly key: string;
  readonly hash: string;
}

export function newKey(): NewKey {
  const prefix = randomText(LOWER, PREFIX_CHARACTERS);
  const secret = randomText(ALL, SECRET_CHARACTERS);
  return { prefix, key: `kgk_${prefix}_${secret}`, hash: hashOf(secret) };
}

/** Undefined for what is no key. */
export function parseKey(text: string): { readonly prefix: string; readonly hash: string } | undefined {
  const [, prefix, secret] = FORM.exec(text) ?? [];
  return prefix === undefined || secret === undefined ? undefined : { prefix, hash: hashOf(secret) };
}

/** Also of a whole name, `kgk_<prefix>`; undefined for what is none. */
export function parsePrefix(text: string): string | undefined {
  const prefix = text.replace(/^kgk_/, '');
  return PREFIX_FORM.test(prefix) ? prefix : undefined;
}

/** In logs, in the audit and for whoever is shown who made a change. */
export const nameOfKey = (prefix: string): string => `kgk_${prefix}`;

export const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

export const randomText = (letters: string, count: number): string =>
  Array.from({ length: count }, () => letters[randomInt(letters.length)]).join('');

/** For passwords that are made for somebody. */
export const newPassword = (): string => randomText(ALL, 24);

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');
