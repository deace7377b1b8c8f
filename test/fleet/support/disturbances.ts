/** What is done to a fleet and its database, one thing after another, and when, so that answers can be judged by it. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { PostgresServer } from '../../support/postgres/server.ts';
import type { Random } from '../../support/random.ts';
import type { TestFleet } from './fleet.ts';

/** A time in which something was amiss. Milliseconds. */
export interface Disturbance {
  readonly kind: string;
  /** Of the node that was concerned; none for the database, which concerns all. */
  readonly node: string | undefined;
  readonly from: number;
  to: number;
}

/** A killed node is found out by the balancer within that time. */
const FOUND_OUT_MS = 2500;
const READY_WITHIN_MS = 60_000;

export class Disturbances {
  readonly all: Disturbance[] = [];
  /** Ids of the nodes, as their answers name them. */
  readonly ids: string[];
  readonly #fleet: TestFleet;
  readonly #server: PostgresServer;
  readonly #random: Random;
  readonly #idOf: (i: number) => Promise<string>;

  private constructor(fleet: TestFleet, server: PostgresServer, random: Random, idOf: (i: number) => Promise<string>) {
    this.#fleet = fleet;
    this.#server = server;
    this.#random = random;
    this.#idOf = idOf;
    this.ids = [];
  }

  static async begin(
    fleet: TestFleet,
    server: PostgresServer,
    random: Random,
    idOf: (i: number) => Promise<string>,
  ): Promise<Disturbances> {
    const all = new Disturbances(fleet, server, random, idOf);
    for (let i = 0; i < fleet.nodes.length; i++) all.ids.push(await idOf(i));
    return all;
  }

  /** Does the next one, and resolves when it is over. */
  async next(): Promise<void> {
    const kinds = [
      () => this.#kill(),
      () => this.#pause(),
      () => this.#update(),
      () => this.#endConnections(),
      () => this.#stopDatabase('fast'),
      () => this.#stopDatabase('immediate'),
      () => this.#pauseDatabase(),
      () => Promise.all([this.#kill(), this.#endConnections()]),
      () => Promise.all([this.#pause(), this.#stopDatabase('immediate')]),
    ];
    await kinds[this.#random.below(kinds.length)]?.();
  }

  /** The time since which a node may not have followed, for who asks it at a time. */
  mayLagSince(node: string | undefined, at: number, catchUp: number): number {
    let since = at;
    for (let changed = true; changed;) {
      changed = false;
      for (const each of this.all) {
        const concerns = each.node === undefined || node === undefined || each.node === node;
        if (!concerns || each.from >= since || each.to + catchUp < since) continue;
        since = each.from;
        changed = true;
      }
    }
    return since;
  }

  /** Whether a node was killed so shortly before that the balancer does not know. */
  mayBeLost(began: number, ended: number): boolean {
    return this.all.some(({ kind, from }) => kind === 'kill' && from <= ended && from + FOUND_OUT_MS >= began);
  }

  /** Whether the database was amiss. */
  withoutDatabase(began: number, ended: number, margin: number): boolean {
    return this.all.some((each) => each.node === undefined && each.from <= ended && each.to + margin >= began);
  }

  async #during(kind: string, node: string | undefined, work: () => Promise<void>): Promise<void> {
    const it: Disturbance = { kind, node, from: performance.now(), to: Infinity };
    this.all.push(it);
    try {
      await work();
    } finally {
      it.to = performance.now();
    }
  }

  async #kill(): Promise<void> {
    const i = this.#random.below(this.#fleet.nodes.length);
    await this.#during('kill', this.ids[i], async () => {
      await this.#fleet.node(i).stop('SIGKILL');
      await wait(this.#random.below(2000));
      await this.#startAgain(i);
    });
  }

  /** As it is updated: it ends in order, and another version begins. */
  async #update(): Promise<void> {
    const i = this.#random.below(this.#fleet.nodes.length);
    await this.#during('update', this.ids[i], async () => {
      const { code } = await this.#fleet.node(i).stop();
      assert.equal(code, 0, 'it ends in order');
      await this.#startAgain(i);
    });
  }

  async #startAgain(i: number): Promise<void> {
    const node = await this.#fleet.restart(i, { early: true });
    const late = wait(READY_WITHIN_MS, 'late', { ref: false });
    assert.notEqual(await Promise.race([node.ready(), late]), 'late', `node ${String(i)} is ready again`);
    this.ids[i] = await this.#idOf(i);
  }

  async #pause(): Promise<void> {
    const i = this.#random.below(this.#fleet.nodes.length);
    const { pid } = this.#fleet.node(i);
    await this.#during('pause', this.ids[i], async () => {
      process.kill(pid, 'SIGSTOP');
      await wait(500 + this.#random.below(8000));
      process.kill(pid, 'SIGCONT');
    });
  }

  async #endConnections(): Promise<void> {
    await this.#during('ended connections', undefined, async () => {
      for (let left = 1 + this.#random.below(10); left > 0; left--) {
        const limit = this.#random.below(3) === 0 ? '' : 'ORDER BY random() LIMIT 1';
        await this.#server.run(
          `SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity
            WHERE application_name LIKE 'kgrid %' ${limit}) AS ended`,
        );
        await wait(this.#random.below(300));
      }
    });
  }

  async #stopDatabase(how: 'fast' | 'immediate'): Promise<void> {
    await this.#during(`database stopped (${how})`, undefined, async () => {
      await this.#server.stop(how);
      await wait(this.#random.below(7000));
      await this.#server.start();
    });
  }

  async #pauseDatabase(): Promise<void> {
    await this.#during('database paused', undefined, async () => {
      this.#server.pause();
      await wait(500 + this.#random.below(7000));
      this.#server.resume();
    });
  }
}
