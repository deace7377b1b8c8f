import { createHash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

/**
 * A value that must not be seen: it shows itself as `[secret]` wherever values get printed by accident (logs,
 * JSON, string conversion, a debugger's inspection) and gives itself only to `reveal`.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/**
 * Tells whether what was given is the secret, in a time that depends on the length of what was given alone: digests are
 * compared, which are equally long.
 */
export function sameSecret(secret: string): (given: unknown) => boolean {
  const wanted = sha256(secret);
  return (given) => typeof given === 'string' && timingSafeEqual(sha256(given), wanted);
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
