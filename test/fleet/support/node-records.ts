/**
 * What the database says of the nodes of a fleet while all is done to them: since when one is behind the others for longer
 * than a change waits for it, or silent for so long that none does. What such a node answers is of before.
 */
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { PostgresServer } from '../../support/postgres/server.ts';

type What = 'revision' | 'generation';

/** A time in which a node was not level with its fleet. Milliseconds. */
interface Absence {
  readonly node: string;
  readonly from: number;
  to: number;
  wasSilent: boolean;
}

interface Row {
  readonly id: string;
  readonly age: number;
  readonly behind: Record<What, boolean>;
}

const EVERY_MS = 300;
const LIVE_FOR_S = 5;
/** For which a change waits for a node that lives. */
const AWAITED_MS: Readonly<Record<What, number>> = { revision: 2000, generation: 10_000 };
/** Between what a node has made and what was read of it. */
const MARGIN_MS = 1000;

export class NodeRecords implements AsyncDisposable {
  readonly #server: PostgresServer;
  readonly #absences: Record<What, Absence[]> = { revision: [], generation: [] };
  readonly #levelAt: Record<What, Map<string, number>> = { revision: new Map(), generation: new Map() };
  readonly #loop: Promise<void>;
  #client: pg.Client | undefined;
  #isOver = false;

  constructor(server: PostgresServer) {
    this.#server = server;
    this.#loop = this.#run();
  }

  /** The time since which a node, or any, had not followed for that long, for who asks it at a time. */
  behindSince(what: What, node: string | undefined, at: number): number {
    const excused = this.#absences[what].filter(
      (each) =>
        (node === undefined || each.node === node) &&
        each.from <= at &&
        at <= each.to + MARGIN_MS &&
        (each.wasSilent || each.to - each.from > AWAITED_MS[what]),
    );
    return Math.min(at, ...excused.map(({ from }) => from));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#look().catch(() => {
        void this.#client?.end().catch(() => undefined);
        this.#client = undefined;
      });
      await wait(EVERY_MS);
    }
    await this.#client?.end().catch(() => undefined);
  }

  async #look(): Promise<void> {
    if (this.#client === undefined) {
      const client = new pg.Client({
        connectionString: this.#server.url('kgrid'),
        connectionTimeoutMillis: 3000,
        query_timeout: 3000,
      });
      client.on('error', () => undefined);
      await client.connect();
      this.#client = client;
    }
    const began = performance.now();
    const { rows } = await this.#client.query<Row>(
      `SELECT n.id, extract(epoch FROM clock_timestamp() - n.heartbeat)::float8 AS age,
        json_build_object('revision', n.revision < s.revision, 'generation', n.generation < s.generation) AS behind
        FROM kgrid.node n, kgrid.state s`,
    );
    const ended = performance.now();
    for (const row of rows) for (const what of ['revision', 'generation'] as const) this.#note(what, row, began, ended);
  }

  #note(what: What, { id, age, behind }: Row, began: number, ended: number): void {
    const isSilent = age > LIVE_FOR_S;
    const absences = this.#absences[what];
    const last = absences.findLast(({ node }) => node === id);
    const open = last?.to === Infinity ? last : undefined;
    if (!isSilent && !behind[what]) {
      if (open !== undefined) open.to = ended;
      this.#levelAt[what].set(id, began);
    } else if (open === undefined)
      absences.push({ node: id, from: this.#levelAt[what].get(id) ?? 0, to: Infinity, wasSilent: isSilent });
    else open.wasSilent ||= isSilent;
  }
}
