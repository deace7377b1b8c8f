/**
 * Users and API keys in the store. A node has all of them in memory, so that no request waits for the database: whoever
 * shares a database looks each second whether any changed. Without the database, what was known last counts.
 */
import { conflict, messageOf, notFound } from '../lib/errors.ts';
import type { Database, Query, Row } from '../shelf/store/database.ts';
import { Grants } from './grants.ts';
import { newKey, nameOfKey } from './keys.ts';

export interface User {
  readonly name: string;
  /** In the form of `passwords.ts`. */
  readonly password: string;
  readonly grants: Grants;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly changed: number;
}

export interface ApiKey {
  readonly prefix: string;
  /** What it is for, in the words of whoever made it. */
  readonly note: string;
  readonly hash: string;
  readonly grants: Grants;
  readonly createdBy: string;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly expires: number | undefined;
  readonly revoked: number | undefined;
}

interface UserRow extends Row {
  readonly name: string;
  readonly password: string;
  readonly grants: string;
  readonly created: number;
  readonly changed: number;
}

interface KeyRow extends Row {
  readonly prefix: string;
  readonly note: string;
  readonly hash: string;
  readonly grants: string;
  readonly created_by: string;
  readonly created: number;
  readonly expires: number | null;
  readonly revoked: number | null;
}

export interface NewKeyOptions {
  readonly note: string;
  readonly grants: readonly string[];
  readonly createdBy: string;
  /** Milliseconds since 1970. */
  readonly expires: number | undefined;
}

const LOOKED_AT_EVERY_MS = 1000;

export class Accounts implements Disposable {
  /** Grows whenever anything here is another than before. */
  version = 0;
  readonly #database: Database;
  readonly #onProblem: (cause: string) => void;
  #users: ReadonlyMap<string, User> = new Map();
  #keys: ReadonlyMap<string, ApiKey> = new Map();
  /** Of the database, at what is in memory. */
  #revision = -1;
  #problem = '';
  #timer: NodeJS.Timeout | undefined;

  private constructor(database: Database, onProblem: (cause: string) => void) {
    this.#database = database;
    this.#onProblem = onProblem;
  }

  /** `onProblem`: hears once for each reason that changes cannot be looked for. */
  static async open(database: Database, onProblem: (cause: string) => void): Promise<Accounts> {
    const accounts = new Accounts(database, onProblem);
    // A shelf that is only read may have been made before there were accounts.
    await accounts.#look().catch((thrown: unknown) => {
      onProblem(messageOf(thrown));
    });
    if (database.isShared) accounts.#watch();
    return accounts;
  }

  get users(): readonly User[] {
    return [...this.#users.values()];
  }

  get keys(): readonly ApiKey[] {
    return [...this.#keys.values()];
  }

  user(name: string): User | undefined {
    return this.#users.get(name);
  }

  key(prefix: string): ApiKey | undefined {
    return this.#keys.get(prefix);
  }

  /** @throws conflict where the name is taken. */
  async addUser(name: string, password: string, grants: readonly string[]): Promise<void> {
    await this.#change(async (query, { schema, now }) => {
      const { count } = await query(
        `INSERT INTO ${schema}app_user (name, password, grants, created, changed) VALUES ($1, $2, $3, ${now}, ${now})
          ON CONFLICT (name) DO NOTHING`,
        [name, password, JSON.stringify(grants)],
      );
      if (count === 0) throw conflict(`There is a user ${name} already: remove it first, or give it another password`);
    });
  }

  /** @throws notFound. */
  async setPassword(name: string, password: string): Promise<void> {
    await this.#change(async (query, { schema, now }) => {
      const { count } = await query(`UPDATE ${schema}app_user SET password = $2, changed = ${now} WHERE name = $1`, [
        name,
        password,
      ]);
      if (count === 0) throw noUser(name);
    });
  }

  /** @throws notFound. */
  async removeUser(name: string): Promise<void> {
    await this.#change(async (query, { schema }) => {
      const { count } = await query(`DELETE FROM ${schema}app_user WHERE name = $1`, [name]);
      if (count === 0) throw noUser(name);
    });
  }

  /** @returns the key, which nobody can be shown again. */
  async addKey({ note, grants, createdBy, expires }: NewKeyOptions): Promise<{ prefix: string; key: string }> {
    const { prefix, key, hash } = newKey();
    await this.#change(async (query, { schema, now }) => {
      await query(
        `INSERT INTO ${schema}api_key (prefix, note, hash, grants, created_by, created, expires)
          VALUES ($1, $2, $3, $4, $5, ${now}, $6)`,
        [prefix, note, hash, JSON.stringify(grants), createdBy, expires ?? null],
      );
    });
    return { prefix, key };
  }

  /** A key that was revoked before stays as it is. @throws notFound. */
  async revokeKey(prefix: string): Promise<void> {
    await this.#change(async (query, { schema, now }) => {
      const { count } = await query(
        `UPDATE ${schema}api_key SET revoked = coalesce(revoked, ${now}) WHERE prefix = $1`,
        [prefix],
      );
      if (count === 0) throw notFound(`There is no key ${nameOfKey(prefix)}`);
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #change(work: (query: Query, dialect: Database['dialect']) => Promise<void>): Promise<void> {
    const { dialect } = this.#database;
    try {
      await this.#database.transaction(async ({ query }) => {
        await work(query, dialect);
        await query(`UPDATE ${dialect.schema}access_state SET revision = revision + 1`);
      });
    } catch (thrown) {
      throw this.#database.toServiceError(thrown);
    }
    // What fails here is looked for again each second, or by the next change.
    await this.#look().catch(() => undefined);
  }

  async #look(): Promise<void> {
    const { schema } = this.#database.dialect;
    const { rows } = await this.#database.query<{ revision: number }>(`SELECT revision FROM ${schema}access_state`);
    const revision = rows[0]?.revision ?? 0;
    if (revision === this.#revision) return;
    const users = await this.#database.query<UserRow>(`SELECT * FROM ${schema}app_user ORDER BY name`);
    const keys = await this.#database.query<KeyRow>(`SELECT * FROM ${schema}api_key ORDER BY created, prefix`);
    this.#users = new Map(users.rows.map((row) => [row.name, { ...row, grants: grantsOf(row.grants) }]));
    this.#keys = new Map(keys.rows.map((row) => [row.prefix, toKey(row)]));
    this.#revision = revision;
    this.version++;
  }

  #watch(): void {
    let isLooking = false;
    const look = async (): Promise<void> => {
      if (isLooking) return;
      isLooking = true;
      try {
        await this.#look();
        this.#problem = '';
      } catch (thrown) {
        const cause = messageOf(thrown);
        if (cause !== this.#problem) this.#onProblem(cause);
        this.#problem = cause;
      } finally {
        isLooking = false;
      }
    };
    this.#timer = setInterval(() => void look(), LOOKED_AT_EVERY_MS).unref();
  }
}

const noUser = (name: string): Error => notFound(`There is no user ${name}`);

const toKey = ({ created_by: createdBy, expires, revoked, grants, ...row }: KeyRow): ApiKey => ({
  ...row,
  createdBy,
  grants: grantsOf(grants),
  expires: expires ?? undefined,
  revoked: revoked ?? undefined,
});

/** What another version wrote and this one does not know gives nothing. */
function grantsOf(json: string): Grants {
  const texts: unknown = JSON.parse(json);
  return Grants.of(Array.isArray(texts) ? texts.filter((each) => typeof each === 'string') : []);
}
