/**
 * Runtimes that registered with one node are known to all, and each endpoint is activated there once: a row of
 * `runtime_endpoint` tells where, and is held by one node while it activates.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { engineName } from '../engines/table.ts';
import type { ActivatedAt } from '../engines/external/activate-at.ts';
import type { EndpointPlan } from '../engines/engine.ts';
import type { SharedRegistration } from '../engines/external/runtime-registry.ts';
import type { RuntimeSharing } from '../engines/external/runtime-engine.ts';
import type { Registration, Runtime } from '../engines/external/runtime.ts';
import type { Database, Dialect, Query, Row, Value } from '../shelf/store/database.ts';
import type { NodeId } from '../shelf/store/nodes.ts';

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

/** What an endpoint was activated for. */
interface Key {
  readonly generation: number;
  readonly epoch: number;
  /** Of the code. */
  readonly checksum: string;
}

export class SharedRuntimes implements RuntimeSharing {
  readonly #options: SharedRuntimesOptions;
  readonly #dialect: Dialect;
  readonly #schema: string;
  /** By url: how often its endpoints were asked for anew. */
  readonly #epochs = new Map<string, number>();
  readonly #heard = new Map<string, number>();
  /** Registrations on their way to the database, by url. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: SharedRuntimesOptions) {
    this.#options = options;
    this.#dialect = options.database.dialect;
    this.#schema = this.#dialect.schema;
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
    const { rows } = await database.query<{ id: string; facts: string; epoch: number; silence: number }>(
      `SELECT id, facts, epoch, ${this.#dialect.now} - heard AS silence FROM ${this.#schema}runtime`,
    );
    if (rows.some(({ id, epoch }) => epoch > (this.#epochs.get(id) ?? 0))) await this.#options.renewed();
    for (const { id, facts, epoch, silence } of rows) {
      if (silence > expiry) continue;
      const known = this.#epochs.get(id) ?? 0;
      if (epoch < known) continue;
      this.#epochs.set(id, epoch);
      take({ ...(JSON.parse(facts) as Facts), silence, renews: epoch > known });
    }
  }

  /** What was known of runtimes is of another database. */
  forget(): void {
    this.#epochs.clear();
    this.#heard.clear();
  }

  forgotten(url: string): void {
    this.#epochs.delete(url);
    this.#heard.delete(url);
    const { database, expiry, onProblem } = this.#options;
    void database
      .query(`DELETE FROM ${this.#schema}runtime WHERE id = $1 AND heard < ${this.#dialect.now} - $2`, [url, expiry])
      .catch(onProblem);
  }

  async activate(runtime: Runtime, plan: EndpointPlan, make: () => Promise<ActivatedAt>): Promise<ActivatedAt> {
    for (;;) {
      // That its endpoints are to be activated anew is part of the key.
      await this.#writing.get(runtime.url);
      // What is asked for anew meanwhile is asked for under another one.
      const epoch = this.#epochs.get(runtime.url) ?? 0;
      const key = { generation: this.#options.generationOf(plan), epoch, checksum: plan.checksum };
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
        `UPDATE ${this.#schema}runtime_endpoint
          SET state = 'leaving', holder = $3, until = ${this.#dialect.now} + ${String(LEAVING_MS)}
          ${where} AND generation <= $4 AND (state = 'active' OR (state = 'leaving' AND holder = $3))`,
        [url, endpoint, node.value, generation()],
      );
      if (count === 0) return;
      await tell();
      const done = `DELETE FROM ${this.#schema}runtime_endpoint ${where} AND state = 'leaving' AND holder = $3`;
      await database.query(done, [url, endpoint, node.value]);
    } catch (thrown) {
      onProblem(thrown);
    }
  }

  async #write(facts: Facts, renews: boolean): Promise<void> {
    const { url, engine } = facts.registration;
    const { database } = this.#options;
    const { now } = this.#dialect;
    const name = engineName(engine);
    const write = async (query: Query): Promise<number> => {
      const { rows } = await query<{ epoch: number }>(
        `INSERT INTO ${this.#schema}runtime AS r (id, engine, facts, epoch, heard) VALUES ($1, $2, $3, 1, ${now})
          ON CONFLICT (id) DO UPDATE SET engine = excluded.engine, facts = excluded.facts, heard = excluded.heard,
            epoch = r.epoch + $4 RETURNING epoch`,
        [url, name, JSON.stringify(facts), renews ? 1 : 0],
      );
      return rows[0]?.epoch ?? 0;
    };
    if (!renews) {
      await write(database.query);
      return;
    }
    const epoch = await database.transaction(async ({ query }) => {
      // Whoever registers anew has all endpoints of its engine activated, as a refresh has.
      await query(
        `INSERT INTO ${this.#schema}engine_refresh (engine, at) VALUES ($1, ${now})
          ON CONFLICT (engine) DO UPDATE SET at = excluded.at`,
        [name],
      );
      return write(query);
    });
    // This node has set that going itself.
    this.#epochs.set(url, epoch);
    await this.#options.renewed();
  }

  /** Where it is active already; `ours` where this node is to activate it, `theirs` while another one does. */
  #claim(runtime: Runtime, plan: EndpointPlan, key: Key): Promise<ActivatedAt | 'ours' | 'theirs'> {
    const { database, node } = this.#options;
    const { now, forUpdate } = this.#dialect;
    // A time so far ahead is from before somebody set the clock of the database back.
    const isOver = (until: string): string => `(${until} <= ${now} OR ${until} > ${now} + ${String(2 * LEAVING_MS)})`;
    return database.transaction(async ({ query }) => {
      const { rows } = await query<EndpointRow>(
        `SELECT generation, checksum, state, uri, CASE WHEN NOT ${isOver('until')} AND holder <> $3 THEN 1 ELSE 0 END AS held
          FROM ${this.#schema}runtime_endpoint WHERE runtime = $1 AND endpoint = $2${forUpdate}`,
        [runtime.url, plan.id, node.value],
      );
      const [row] = rows;
      // A node ahead of this one has put what this one is about to come to.
      if (row?.state === 'active' && row.uri !== null && !isOlder(keyOf(row), key))
        return JSON.parse(row.uri) as ActivatedAt;
      if (row?.held === 1) return 'theirs';
      const { count } = await query(
        `INSERT INTO ${this.#schema}runtime_endpoint AS e (runtime, endpoint, generation, checksum, state, holder, until)
          SELECT id, $2, CAST($3 AS BIGINT), $4, 'activating', $5, ${now} + ${String(LEASE_MS)}
            FROM ${this.#schema}runtime WHERE id = $1
          ON CONFLICT (runtime, endpoint) DO UPDATE SET generation = excluded.generation, checksum = excluded.checksum,
            state = excluded.state, uri = NULL, holder = excluded.holder, until = excluded.until
          WHERE e.until IS NULL OR ${isOver('e.until')} OR e.holder = excluded.holder`,
        [runtime.url, plan.id, key.generation, checksumOf(key), node.value],
      );
      // It registered just now, and its row is not there yet; or another node was quicker.
      return count === 0 && row === undefined && (await this.#isKnown(query, runtime.url)) ? 'theirs' : 'ours';
    });
  }

  async #isKnown(query: Query, url: string): Promise<boolean> {
    return (await query(`SELECT 1 AS found FROM ${this.#schema}runtime WHERE id = $1`, [url])).rows.length > 0;
  }

  async #make(runtime: Runtime, plan: EndpointPlan, key: Key, make: () => Promise<ActivatedAt>): Promise<ActivatedAt> {
    const { database, node } = this.#options;
    const where = `WHERE runtime = $1 AND endpoint = $2 AND generation = $3 AND checksum = $4 AND holder = $5`;
    const values = [runtime.url, plan.id, key.generation, checksumOf(key), node.value];
    const note = (sql: string, more: readonly Value[] = []): Promise<unknown> =>
      database.query(sql, [...values, ...more]).catch(this.#options.onProblem);
    const until = `${this.#dialect.now} + ${String(LEASE_MS)}`;
    const renewal = setInterval(
      () => void note(`UPDATE ${this.#schema}runtime_endpoint SET until = ${until} ${where}`),
      RENEWED_EVERY_MS,
    );
    try {
      const at = await make();
      clearInterval(renewal);
      await note(`UPDATE ${this.#schema}runtime_endpoint SET state = 'active', uri = $6, until = NULL ${where}`, [
        JSON.stringify(at),
      ]);
      return at;
    } catch (thrown) {
      clearInterval(renewal);
      await note(`DELETE FROM ${this.#schema}runtime_endpoint ${where}`);
      throw thrown;
    } finally {
      clearInterval(renewal);
    }
  }
}

interface EndpointRow extends Row {
  readonly generation: number;
  readonly checksum: string;
  readonly state: string;
  readonly uri: string | null;
  /** 1 where another node holds it. */
  readonly held: number;
}

/** As it is stored: with the time of the runtime. */
const checksumOf = ({ epoch, checksum }: Key): string => `${String(epoch)} ${checksum}`;

function keyOf({ generation, checksum }: EndpointRow): Key {
  const [epoch = '', code = ''] = checksum.split(' ');
  return { generation, epoch: Number(epoch), checksum: code };
}

/** Whether one key is of an earlier generation than another, or of an earlier time of its runtime, or of other code. */
const isOlder = ({ generation, epoch, checksum }: Key, than: Key): boolean =>
  epoch < than.epoch ||
  generation < than.generation ||
  (generation === than.generation && epoch === than.epoch && checksum !== than.checksum);
