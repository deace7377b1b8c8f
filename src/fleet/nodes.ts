/** The nodes of a fleet, as the database knows them. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../shelf/postgres/database.ts';
import { mayLive } from '../shelf/postgres/node-lives.ts';

/** Something that cannot be called on a node. */
export interface NodeFailure {
  /** `<naan>/<name>/<version>`. */
  readonly knowledgeObject: string;
  readonly cause: string;
  /** When the node tries it again by itself: ISO 8601. */
  readonly triedAgainAt?: string;
}

export interface FleetNode {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  /** Of the program. */
  readonly version: string;
  /** Those that must be the same on all nodes, by option. */
  readonly settings: Readonly<Record<string, string>>;
  /** Of the shelf, up to which it has seen the changes. */
  readonly revision: number;
  /** Of the activation, up to which it has made the changes. */
  readonly generation: number;
  readonly failures: readonly NodeFailure[];
  /** When it joined: ISO 8601. */
  readonly joined: string;
  /** Seconds since its last sign of life. */
  readonly age: number;
}

/** Seconds without a sign of life after which a node is forgotten. */
const FORGOTTEN_AFTER_S = 3600;
/** Generation of a node that does not follow changes yet: it activates what was active when it joined. */
export const JOINING = 0;
const FIRST_LOOK_MS = 10;
const LONGEST_PAUSE_MS = 200;

type What = 'revision' | 'generation';

type Row = Omit<FleetNode, 'joined'> & { readonly joined: Date } & Record<string, unknown>;

export class Nodes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All that are known, the first to join first. @throws DatabaseError. */
  async list(): Promise<readonly FleetNode[]> {
    const { rows } = await this.#database.query<Row>(
      `SELECT id, name, address, version, settings, revision, generation, failures, joined, extract(epoch FROM clock_timestamp() - heartbeat)::float8 AS age
        FROM ${this.#database.schema}.node ORDER BY joined, id`,
    );
    return rows.map((row) => ({ ...row, joined: row.joined.toISOString(), age: Math.max(0, row.age) }));
  }

  /** Names of the nodes that live and have not come that far. @throws DatabaseError. */
  async behind(what: What, to: number): Promise<readonly string[]> {
    const { rows } = await this.#database.query<{ name: string }>(
      `SELECT name FROM ${this.#database.schema}.node
        WHERE ${what} < $1 AND generation > ${JOINING} AND ${mayLive(this.#database.schema)} ORDER BY name`,
      [to],
    );
    return rows.map(({ name }) => name);
  }

  /** Waits for all that live. @param atMost milliseconds. @returns those that are behind then. @throws DatabaseError. */
  async whenReached(what: What, to: number, atMost: number): Promise<readonly string[]> {
    const until = performance.now() + atMost;
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const behind = await this.behind(what, to);
      if (behind.length === 0 || performance.now() >= until) return behind;
      await wait(pause);
    }
  }

  /** Nodes that have been gone for long. @throws DatabaseError. */
  async forgetGone(): Promise<void> {
    await this.#database.query(
      `DELETE FROM ${this.#database.schema}.node
        WHERE heartbeat < clock_timestamp() - interval '${FORGOTTEN_AFTER_S} seconds'`,
    );
  }
}

/** Options in which nodes differ, with what each says. */
export function differencesOf(nodes: readonly FleetNode[]): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const options = new Set(nodes.flatMap(({ settings }) => Object.keys(settings)));
  const differing = [...options].filter((each) => new Set(nodes.map(({ settings }) => settings[each])).size > 1);
  return Object.fromEntries(
    differing.map((each) => [
      each,
      Object.fromEntries(nodes.map(({ name, settings }) => [name, settings[each] ?? 'not known'])),
    ]),
  );
}
