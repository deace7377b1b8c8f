/** The nodes of a fleet, as the database knows them. */
import type { Database, Row } from '../shelf/store/database.ts';
import { nodesWhere, untilNone, lives } from '../shelf/store/nodes.ts';

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

/** What a node tells the others of itself. */
export interface NodeState {
  readonly revision: number;
  readonly generation: number;
  readonly failures: readonly NodeFailure[];
}

/** What the database says of the fleet. */
interface FleetState extends Row {
  /** Of the last change of what is active. */
  readonly generation: number;
  /** The number of the last change of any kind, and its mark. */
  readonly number: number;
  readonly mark: string;
  /** Why an operator is to look at what the database has lost. */
  readonly doubt: string | null;
  /** Nodes whose sign of life is of a time that has not come. */
  readonly ahead: number;
}

export interface NodeFacts {
  readonly id: string;
  /** When it did, by the clock of the database: that tells it from another that has its id. */
  readonly joined: number;
  readonly name: string;
  readonly address: string;
  /** Of the program. */
  readonly version: string;
  /** Those that must be the same on all nodes, by option. */
  readonly settings: Readonly<Record<string, string>>;
}

interface HeartbeatOptions {
  readonly database: Database;
  readonly node: () => NodeFacts;
  readonly state: () => NodeState;
  /** Hears after each beat how the fleet is. */
  readonly onFleet: (state: FleetState) => void;
  /** Another node has joined with the id of this one: then this one needs another. */
  readonly onTaken: () => Promise<void>;
  readonly onProblem: (cause: unknown) => void;
}

const EVERY_MS = 1000;
/** More than a slow database takes for a statement, less than a node may be silent. */
const STATEMENT_TIMEOUT_MS = 4000;

/**
 * The sign of life of a node: each second one statement that tells how far it is and asks how far the fleet is. Whatever
 * wakes it earlier saves the rest of that second.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #again = false;
  #ended = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#timer = setInterval(() => void this.beat(), EVERY_MS);
  }

  /** Tells the others now; where it is telling them already, once more after that. Never rejects. */
  beat(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    if (this.#beating !== undefined) {
      this.#again = true;
      return this.#beating;
    }
    this.#beating = this.#run().finally(() => (this.#beating = undefined));
    return this.#beating;
  }

  /** Takes the node out of the fleet. Never rejects. */
  async end(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#timer);
    await this.#beating;
    const { database, node, onProblem } = this.#options;
    const { id, joined } = node();
    const sql = `DELETE FROM ${database.dialect.schema}node WHERE id = $1 AND joined = $2`;
    await database.query(sql, [id, joined], STATEMENT_TIMEOUT_MS).catch(onProblem);
  }

  async #run(): Promise<void> {
    do {
      this.#again = false;
      try {
        const fleet = await this.#tell();
        if (fleet !== undefined) this.#options.onFleet(fleet);
        else {
          await this.#options.onTaken();
          this.#again = true;
        }
      } catch (thrown) {
        this.#options.onProblem(thrown);
        return;
      }
    } while (this.#again);
  }

  /** @returns undefined where the row of this node is another's. */
  async #tell(): Promise<FleetState | undefined> {
    const { database, state } = this.#options;
    const { schema, now } = database.dialect;
    const isHeard = `n.${lives(database.dialect)}`;
    const isAhead = `heartbeat > ${now} + ${String(EVERY_MS)}`;
    const { revision, generation, failures } = state();
    const { id, joined, name, address, version, settings } = this.#options.node();
    const { rows } = await database.query<FleetState>(
      `INSERT INTO ${schema}node AS n (id, name, address, version, settings, joined, revision, generation, failures, heartbeat)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${now})
        ON CONFLICT (id) DO UPDATE SET heartbeat = excluded.heartbeat, revision = excluded.revision,
          generation = excluded.generation, failures = excluded.failures,
          heard_until = CASE WHEN ${isHeard} THEN n.heard_until ELSE n.heartbeat END,
          heard_again = CASE WHEN ${isHeard} THEN n.heard_again ELSE excluded.heartbeat END
        WHERE n.joined = excluded.joined
        RETURNING (SELECT generation FROM ${schema}state) AS generation, (SELECT doubt FROM ${schema}state) AS doubt,
          (SELECT revision + generation FROM ${schema}state) AS number,
          (SELECT substr(marks, length(marks) - 9, 8) FROM ${schema}state) AS mark,
          (SELECT count(*) FROM ${schema}node WHERE ${isAhead}) AS ahead`,
      [
        ...[id, name, address, version, JSON.stringify(settings), joined],
        ...[revision, generation, JSON.stringify(failures)],
      ],
      STATEMENT_TIMEOUT_MS,
    );
    // Somebody set the clock of the database back: who is dead would seem to live until then, and who lives to be silent.
    if (rows[0] !== undefined && rows[0].ahead > 0)
      await database.query(`UPDATE ${schema}node SET heartbeat = ${now} WHERE ${isAhead}`);
    return rows[0];
  }
}
