/**
 * Runtimes that registered with one node are known to all, and each endpoint is activated there once: a row of
 * `runtime_endpoint` tells where, and is held by one node while it activates.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { engineName } from '../engines/table.ts';
import type { ActivatedAt } from '../engines/remote/activate-at.ts';
import type { EndpointPlan } from '../engines/engine.ts';
import type { SharedRegistration } from '../engines/remote/runtime-registry.ts';
import type { RuntimeSharing } from '../engines/remote/runtime-sharing.ts';
import type { Registration, Runtime } from '../engines/remote/runtime.ts';
import type { Database } from '../shelf/postgres/database.ts';
import type { NodeId } from '../shelf/postgres/node-id.ts';

export interface SharedRuntimesOptions {
  readonly database: Database;
  /** This one. */
  readonly node: NodeId;
  /** Generation of the last change about a KO: with it its endpoints are activated anew. */
  readonly generationOf: (plan: EndpointPlan) => number;
  /** Of the last change that this node has made, or is making. */
  readonly generation: () => number;
  readonly isActive: (endpoint: string) => boolean;
  /** All endpoints of an engine are to be activated anew, at a time that the database has. @throws DatabaseError. */
  readonly renewed: () => Promise<void>;
  /** Takes in what another node registered. */
  readonly take: (shared: SharedRegistration) => void;
  /** Milliseconds after which a runtime without a sign of life is forgotten. */
  readonly expiry: number;
  readonly onProblem: (cause: unknown) => void;
}

/** Milliseconds for which a node that activates an endpoint is believed to do so, unless it says so again. */
const LEASE_MS = 10_000;
const RENEWED_EVERY_MS = 3000;
/** Longer than a runtime is given to let go of an endpoint. */
const LEAVING_MS = 15_000;
const LOOKED_AT_EVERY_MS = 100;
/** Milliseconds between the writes of heartbeats of one runtime. */
const HEARD_EVERY_MS = 1000;

interface Facts {
  readonly registration: Registration;
  readonly activator: string;
}

export class SharedRuntimes implements RuntimeSharing {
  readonly #options: SharedRuntimesOptions;
  readonly #schema: string;
  /** By url: how often its endpoints were asked for anew. */
  readonly #epochs = new Map<string, number>();
  readonly #heard = new Map<string, number>();
  /** Registrations on their way to the database, by url. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: SharedRuntimesOptions) {
    this.#options = options;
    this.#schema = options.database.schema;
  }

  registered(registration: Registration, activator: string, renews: boolean): void {
    const now = performance.now();
    const last = this.#heard.get(registration.url);
    if (!renews && last !== undefined && now - last < HEARD_EVERY_MS) return;
    this.#heard.set(registration.url, now);
    const { url } = registration;
    const written = this.#write({ registration, activator }, renews)
      .catch((thrown: unknown) => {
        // The next heartbeat tries it again.
        this.#heard.delete(url);
        this.#options.onProblem(thrown);
      })
      .finally(() => this.#writing.get(url) === written && this.#writing.delete(url));
    this.#writing.set(url, written);
  }

  /** Takes in what other nodes have registered. @throws DatabaseError. */
  async follow(): Promise<void> {
    const { database, expiry, take } = this.#options;
    const { rows } = await database.query<{ id: string; facts: Facts; epoch: number; silence: number }>(
      `SELECT id, facts, epoch, extract(epoch FROM clock_timestamp() - heard)::float8 * 1000 AS silence
        FROM ${this.#schema}.runtime`,
    );
    if (rows.some(({ id, epoch }) => epoch > (this.#epochs.get(id) ?? 0))) await this.#options.renewed();
    for (const { id, facts, epoch, silence } of rows) {
      if (silence > expiry) continue;
      const known = this.#epochs.get(id) ?? 0;
      if (epoch < known) continue;
      this.#epochs.set(id, epoch);
      take({ ...facts, silence, renews: epoch > known });
    }
  }

  forgotten(url: string): void {
    this.#epochs.delete(url);
    this.#heard.delete(url);
    const { database, expiry, onProblem } = this.#options;
    void database
      .query(
        `DELETE FROM ${this.#schema}.runtime
          WHERE id = $1 AND heard < clock_timestamp() - $2 * interval '1 millisecond'`,
        [url, expiry],
      )
      .catch(onProblem);
  }

  async activate(runtime: Runtime, plan: EndpointPlan, make: () => Promise<ActivatedAt>): Promise<ActivatedAt> {
    for (;;) {
      // That its endpoints are to be activated anew is part of the key.
      await this.#writing.get(runtime.url);
      // What is asked for anew meanwhile is asked for under another one.
      const key = keyOf(plan.checksum, this.#options.generationOf(plan), this.#epochs.get(runtime.url) ?? 0);
      const found = await this.#claim(runtime, plan, key).catch((thrown: unknown) => {
        // Without the database each node activates for itself.
        this.#options.onProblem(thrown);
        return 'ours' as const;
      });
      if (typeof found === 'object') return found;
      if (found === 'ours') return this.#make(runtime, plan, key, make);
      await wait(LOOKED_AT_EVERY_MS);
    }
  }

  artifactsOf({ ko: { naan, name, version }, checksum }: EndpointPlan): string {
    return `/proxy/packages/${checksum}/${naan}/${name}/${version}/`;
  }

  async deactivate(url: string, endpoint: string, tell: () => Promise<void>): Promise<void> {
    const { database, isActive, onProblem, node, generation } = this.#options;
    if (isActive(endpoint)) return;
    const where = 'WHERE runtime = $1 AND endpoint = $2';
    try {
      // What a node ahead of this one has activated there, or is about to, is not this node's to take away.
      const { count } = await database.query(
        `UPDATE ${this.#schema}.runtime_endpoint
          SET state = 'leaving', holder = $3, until = clock_timestamp() + interval '${LEAVING_MS} milliseconds'
          ${where} AND split_part(checksum, ' ', 1)::bigint <= $4
            AND (state = 'active' OR (state = 'leaving' AND holder = $3))`,
        [url, endpoint, node.value, generation()],
      );
      if (count === 0) return;
      await tell();
      const done = `DELETE FROM ${this.#schema}.runtime_endpoint ${where} AND state = 'leaving' AND holder = $3`;
      await database.query(done, [url, endpoint, node.value]);
    } catch (thrown) {
      onProblem(thrown);
    }
  }

  async #write(facts: Facts, renews: boolean): Promise<void> {
    const { url, engine } = facts.registration;
    const { rows } = await this.#options.database.query<{ epoch: number }>(
      // Whoever registers anew has all endpoints of its engine activated, as a refresh has.
      `WITH refreshed AS (INSERT INTO ${this.#schema}.engine_refresh AS e (engine, at)
          SELECT $2::text, statement_timestamp() WHERE $4::int = 1
          ON CONFLICT (engine) DO UPDATE SET at = greatest(e.at, excluded.at))
        INSERT INTO ${this.#schema}.runtime AS r (id, engine, url, facts, epoch) VALUES ($1, $2, $1, $3, 1)
        ON CONFLICT (id) DO UPDATE SET engine = excluded.engine, facts = excluded.facts, heard = clock_timestamp(),
          epoch = r.epoch + $4::int RETURNING epoch`,
      [url, engineName(engine), JSON.stringify(facts), renews ? 1 : 0],
    );
    const [{ epoch } = { epoch: 0 }] = rows;
    // This node has set that going itself.
    if (!renews) return;
    this.#epochs.set(url, epoch);
    await this.#options.renewed();
  }

  /** Where it is active already; `ours` where this node is to activate it, `theirs` while another one does. */
  #claim(runtime: Runtime, plan: EndpointPlan, key: string): Promise<ActivatedAt | 'ours' | 'theirs'> {
    const { database, node } = this.#options;
    return database.transaction(async ({ query }) => {
      const { rows } = await query<{ checksum: string; state: string; uri: string | null; held: boolean }>(
        `SELECT checksum, state, uri, coalesce(until > clock_timestamp() AND holder <> $3, false) AS held
          FROM ${this.#schema}.runtime_endpoint WHERE runtime = $1 AND endpoint = $2 FOR UPDATE`,
        [runtime.url, plan.id, node.value],
      );
      const [row] = rows;
      // A node ahead of this one has put what this one is about to come to.
      if (row?.state === 'active' && row.uri !== null && !isOlder(row.checksum, key))
        return JSON.parse(row.uri) as ActivatedAt;
      if (row?.held === true) return 'theirs';
      const { count } = await query(
        `INSERT INTO ${this.#schema}.runtime_endpoint AS e (runtime, endpoint, checksum, state, holder, until)
          SELECT id, $2, $3, 'activating', $4, clock_timestamp() + interval '${LEASE_MS} milliseconds'
            FROM ${this.#schema}.runtime WHERE id = $1
          ON CONFLICT (runtime, endpoint) DO UPDATE SET checksum = excluded.checksum, state = excluded.state, uri = NULL,
            holder = excluded.holder, until = excluded.until
          WHERE e.until IS NULL OR e.until < clock_timestamp() OR e.holder = excluded.holder`,
        [runtime.url, plan.id, key, node.value],
      );
      // It registered just now, and its row is not there yet; or another node was quicker.
      return count === 0 && row === undefined && (await this.#isKnown(query, runtime.url)) ? 'theirs' : 'ours';
    });
  }

  async #isKnown(query: Database['query'], url: string): Promise<boolean> {
    return (await query(`SELECT 1 FROM ${this.#schema}.runtime WHERE id = $1`, [url])).rows.length > 0;
  }

  async #make(
    runtime: Runtime,
    plan: EndpointPlan,
    key: string,
    make: () => Promise<ActivatedAt>,
  ): Promise<ActivatedAt> {
    const { database, node } = this.#options;
    const where = `WHERE runtime = $1 AND endpoint = $2 AND checksum = $3 AND holder = $4`;
    const values = [runtime.url, plan.id, key, node.value];
    const note = (sql: string, more: readonly unknown[] = []): Promise<unknown> =>
      database.query(sql, [...values, ...more]).catch(this.#options.onProblem);
    const until = `clock_timestamp() + interval '${LEASE_MS} milliseconds'`;
    const renewal = setInterval(
      () => void note(`UPDATE ${this.#schema}.runtime_endpoint SET until = ${until} ${where}`),
      RENEWED_EVERY_MS,
    );
    try {
      const at = await make();
      clearInterval(renewal);
      await note(`UPDATE ${this.#schema}.runtime_endpoint SET state = 'active', uri = $5, until = NULL ${where}`, [
        JSON.stringify(at),
      ]);
      return at;
    } catch (thrown) {
      clearInterval(renewal);
      await note(`DELETE FROM ${this.#schema}.runtime_endpoint ${where}`);
      throw thrown;
    } finally {
      clearInterval(renewal);
    }
  }
}

const keyOf = (checksum: string, generation: number, epoch: number): string => `${generation} ${epoch} ${checksum}`;

/** Whether one key is of an earlier generation than another, or of an earlier time of its runtime, or of other code. */
function isOlder(key: string, than: string): boolean {
  const [generation = 0, epoch = 0] = key.split(' ').map(Number);
  const [wanted = 0, wantedEpoch = 0] = than.split(' ').map(Number);
  return epoch < wantedEpoch || generation < wanted || (generation === wanted && epoch === wantedEpoch && key !== than);
}
