/**
 * The sign of life of a node: each second one statement that tells how far it is and asks how far the fleet is. Whatever
 * wakes it earlier saves the rest of that second.
 */
import type { Database, Row } from '../shelf/store/database.ts';
import { lives } from '../shelf/store/node-lives.ts';
import type { NodeFailure } from './nodes.ts';

/** What a node tells the others of itself. */
export interface NodeState {
  readonly revision: number;
  readonly generation: number;
  readonly failures: readonly NodeFailure[];
}

/** What the database says of the fleet. */
export interface FleetState extends Row {
  /** Of the last change of what is active. */
  readonly generation: number;
  /** The number of the last change of any kind, and its mark. */
  readonly number: number;
  readonly mark: string;
  /** Why an operator is to look at what the database has lost. */
  readonly doubt: string | null;
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

export interface HeartbeatOptions {
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
          (SELECT substr(marks, length(marks) - 9, 8) FROM ${schema}state) AS mark`,
      [
        ...[id, name, address, version, JSON.stringify(settings), joined],
        ...[revision, generation, JSON.stringify(failures)],
      ],
      STATEMENT_TIMEOUT_MS,
    );
    return rows[0];
  }
}
