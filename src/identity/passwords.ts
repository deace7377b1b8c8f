/** Passwords as they are kept: `scrypt$<log2 N>$<r>$<p>$<salt>$<hash>`, both in base64url. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { FairQueue } from '../lib/fair-queue.ts';
import { tooManyTries } from '../lib/errors.ts';

/** 32 MB and some 0.2 s for each. */
const COST = { logN: 15, r: 8, p: 3 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MOST_MEMORY = 64 * 1024 * 1024;

/** Computations at a time: each takes a thread and memory. */
const MOST_AT_ONCE = 2;
/** Computations of an address, and of all, that wait or run. */
const MOST_OF_ADDRESS = 8;
const MOST = 200;

export const PASSWORD_CHARACTERS = { least: 8, most: 1024 } as const;

export class Passwords {
  readonly #queue = new FairQueue({ limit: MOST_AT_ONCE });
  readonly #waiting = new Map<string, number>();
  #all = 0;

  /** @throws tooManyTries where too many computations wait already. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.#turn('', () => compute(password, salt, COST));
    const { logN, r, p } = COST;
    return ['scrypt', logN, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
  }

  /** @param from takes turns with others. @param isStillAsked looked at when its turn has come. @throws tooManyTries. */
  async fits(password: string, kept: string, from: string, isStillAsked: () => boolean): Promise<boolean> {
    const parts = parse(kept) ?? NOBODYS;
    const found = await this.#turn(from, async () =>
      isStillAsked() ? timingSafeEqual(await compute(password, parts.salt, parts), parts.hash) : false,
    );
    return found && parts !== NOBODYS;
  }

  async #turn<T>(from: string, work: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(from) ?? 0;
    if (waiting >= MOST_OF_ADDRESS || this.#all >= MOST) throw tooManyTries(1);
    this.#waiting.set(from, waiting + 1);
    this.#all++;
    try {
      return await this.#queue.run(from, work);
    } finally {
      this.#all--;
      const left = (this.#waiting.get(from) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(from);
      else this.#waiting.set(from, left);
    }
  }
}

interface Kept {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Takes as long as that of somebody, and fits nothing. */
const NOBODYS: Kept = { ...COST, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };

function parse(kept: string): Kept | undefined {
  const [, logN, r, p, salt = '', hash = ''] =
    /^scrypt\$(\d{1,2})\$(\d{1,2})\$(\d{1,2})\$([\w-]+)\$([\w-]+)$/.exec(kept) ?? [];
  if (logN === undefined) return undefined;
  const bytes = Buffer.from(hash, 'base64url');
  if (bytes.length !== HASH_BYTES) return undefined;
  return { logN: Number(logN), r: Number(r), p: Number(p), salt: Buffer.from(salt, 'base64url'), hash: bytes };
}

const compute = (password: string, salt: Buffer, { logN, r, p }: Omit<Kept, 'salt' | 'hash'>): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { N: 2 ** logN, r, p, maxmem: MOST_MEMORY };
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
