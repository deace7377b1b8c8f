/** The nodes of a fleet, as the database knows them. */
import type { Database, Row } from '../shelf/store/database.ts';
import { nodesWhere, untilNone } from '../shelf/store/node-lives.ts';

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

/** Milliseconds without a sign of life after which a node is forgotten. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** Generation of a node that does not follow changes yet: it activates what was active when it joined. */
export const JOINING = 0;

interface NodeRow extends Row {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly version: string;
  /** JSON, as `failures`. */
  readonly settings: string;
  readonly revision: number;
  readonly generation: number;
  readonly failures: string;
  readonly joined: number;
  /** Milliseconds since its last sign of life. */
  readonly silence: number;
}

export class Nodes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All that are known, the first to join first. @throws DatabaseError. */
  async list(): Promise<readonly FleetNode[]> {
    const { schema, now } = this.#database.dialect;
    const { rows } = await this.#database.query<NodeRow>(
      `SELECT id, name, address, version, settings, revision, generation, failures, joined, ${now} - heartbeat AS silence
        FROM ${schema}node ORDER BY joined, id`,
    );
    return rows.map(({ settings, failures, joined, silence, ...rest }) => ({
      ...rest,
      settings: JSON.parse(settings) as FleetNode['settings'],
      failures: JSON.parse(failures) as readonly NodeFailure[],
      joined: new Date(joined).toISOString(),
      age: Math.max(0, silence) / 1000,
    }));
  }

  /** Names of the nodes that live and have not come to that generation. @throws DatabaseError. */
  behind(generation: number): Promise<readonly string[]> {
    return nodesWhere(this.#database, `generation < $1 AND generation > ${String(JOINING)}`, [generation]);
  }

  /** Waits for all that live. @param atMost milliseconds. @returns those that are behind then. @throws DatabaseError. */
  whenReached(generation: number, atMost: number): Promise<readonly string[]> {
    return untilNone(() => this.behind(generation), atMost);
  }

  /** Nodes that have been gone for long. @throws DatabaseError. */
  async forgetGone(): Promise<void> {
    const { schema, now } = this.#database.dialect;
    await this.#database.query(`DELETE FROM ${schema}node WHERE heartbeat < ${now} - ${String(FORGOTTEN_AFTER_MS)}`);
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
