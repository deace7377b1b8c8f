/**
 * What proves that a call comes from the code of another one: the activator gives a token out with each request to a
 * runtime, and believes the depth and the deadline of a call that brings it back. "No header that a client may set
 * decides over others."
 *
 *     v1.<base64url of {"id", "depth", "deadline", "node"}>.<base64url of the HMAC-SHA256 of what stands before>
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { uptime } from '../lib/time.ts';

/** What the token says of the call that it was given out with. */
export interface CallOrigin {
  /** 0 for a client's call, one more for each call of one KO by another. */
  readonly depth: number;
  /** Milliseconds of `uptime()`. */
  readonly deadline: number;
}

const VERSION = 'v1';
const MAX_CHARACTERS = 1024;

export class CallTokens {
  /** A key object: signing with it takes a fifth of the time. */
  #key: KeyObject;
  /** This process, for whoever reads a token. */
  readonly #node = randomUUID();

  /** `key`: of all activators that believe each other's tokens; one of this process alone when left out. */
  constructor(key: Buffer = randomBytes(32)) {
    this.#key = createSecretKey(key);
  }

  /** Takes the key of other activators, whose tokens it believes from then on, as they believe its own. */
  share(key: Buffer): void {
    this.#key = createSecretKey(key);
  }

  /** The token of a request to a runtime. */
  give({ depth, deadline }: CallOrigin): string {
    const until = Date.now() + deadline - uptime();
    const payload = JSON.stringify({ id: randomUUID(), depth, deadline: until, node: this.#node });
    const signed = `${VERSION}.${Buffer.from(payload).toString('base64url')}`;
    return `${signed}.${this.#signatureOf(signed)}`;
  }

  /** Undefined for what is no token, or none of this key, and for one whose time is over. */
  read(token: string | readonly string[] | undefined): CallOrigin | undefined {
    if (typeof token !== 'string' || token.length > MAX_CHARACTERS || !token.startsWith(`${VERSION}.`))
      return undefined;
    const end = token.lastIndexOf('.');
    if (!isSame(token.slice(end + 1), this.#signatureOf(token.slice(0, end)))) return undefined;
    const { depth, deadline } = payloadOf(token.slice(VERSION.length + 1, end));
    if (!isCount(depth) || !isCount(deadline)) return undefined;
    const left = deadline - Date.now();
    return left > 0 ? { depth, deadline: uptime() + left } : undefined;
  }

  /** Proves to whoever has the key that this text came from here; it never expires, and is no token. */
  proofOf(text: string): string {
    return this.#signatureOf(`proof ${text}`);
  }

  proves(text: string, proof: string): boolean {
    return isSame(proof, this.proofOf(text));
  }

  #signatureOf(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}

function isSame(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Reads the payload of a signed text, which may come from an activator of another version. */
function payloadOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(Buffer.from(text, 'base64url').toString())) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
