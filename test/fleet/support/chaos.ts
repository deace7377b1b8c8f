/**
 * Three nodes behind HAProxy over a PostgreSQL of their own, to all of which everything happens while clients change what
 * is active, and call it: no call fails but those that a killed node had begun, and every answer is what may be active.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { clientOf } from '../../acceptance/support/knowledge-grid.ts';
import type { Client } from '../../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../../acceptance/support/ko.ts';
import { startServer } from '../../support/postgres/server.ts';
import { Random } from '../../support/random.ts';
import { startHaproxy } from './balancers.ts';
import { Disturbances } from './disturbances.ts';
import { startFleet } from './fleet.ts';
import type { TestFleet } from './fleet.ts';
import { KeptClient } from './load.ts';
import { WatchedKo } from './watched-ko.ts';
import type { Version } from './watched-ko.ts';
import { NodeRecords } from './node-records.ts';
import { untilWell } from './whole.ts';

const KOS = 6;
const CALLERS = 8;
/** Milliseconds in which a node that could not follow has caught up once it can, on a machine with much else to do; what it took is told. */
const CATCH_UP_MS = 5_000;
/** Of the callers. */
const PAUSE_MS = 20;
const MOST_TOLD = 20;

interface Answered {
  readonly version: Version;
  readonly node: string | undefined;
}

export interface ChaosReport {
  readonly problems: readonly string[];
  /** One line each. */
  readonly told: readonly string[];
}

export class Chaos implements AsyncDisposable {
  readonly #owned: AsyncDisposableStack;
  readonly #fleet: TestFleet;
  readonly #service: Client;
  readonly #random: Random;
  readonly #kos: readonly WatchedKo[];
  readonly #disturbances: Disturbances;
  readonly #records: NodeRecords;
  /** Answers of before, to be held to what is known of the nodes once all of that is. */
  readonly #suspects: (() => void)[] = [];
  readonly #problems: string[] = [];
  readonly #onProblem: (problem: string) => void;
  readonly #began = performance.now();
  readonly #counts = { calls: 0, judgedAtOnce: 0, lost: 0, 'without the package': 0, 'of a node behind': 0, reads: 0 };
  /** Milliseconds after a disturbance at which an answer was of before, at most. */
  #longestLag = 0;
  #isOver = false;

  private constructor(parts: {
    owned: AsyncDisposableStack;
    fleet: TestFleet;
    service: Client;
    random: Random;
    kos: readonly WatchedKo[];
    disturbances: Disturbances;
    records: NodeRecords;
    onProblem: (problem: string) => void;
  }) {
    this.#owned = parts.owned;
    this.#fleet = parts.fleet;
    this.#service = parts.service;
    this.#random = parts.random;
    this.#kos = parts.kos;
    this.#disturbances = parts.disturbances;
    this.#records = parts.records;
    this.#onProblem = parts.onProblem;
  }

  /** @param onProblem hears of each at once. */
  static async begin(seed: number, onProblem: (problem: string) => void = () => undefined): Promise<Chaos> {
    await using all = new AsyncDisposableStack();
    const random = new Random(seed);
    const server = all.use(await startServer());
    await server.run('CREATE DATABASE kgrid TEMPLATE template0');
    const args = ['--trust-proxy', '127.0.0.1', '--provenance', '--drain', '2500ms'];
    const fleet = all.use(await startFleet(3, { url: `${server.url('kgrid')}?connect_timeout=3`, args }));
    const balancer = all.use(await startHaproxy(fleet.nodes.map(({ url }) => url)));
    const service = clientOf(balancer.url);
    const naan = uniqueNaan();
    const kos: WatchedKo[] = [];
    for (let i = 0; i <= KOS; i++) kos.push(await WatchedKo.begin(service, naan, `ko${String(i)}`));
    const steady = kos.pop();
    const idOf = async (i: number): Promise<string> => {
      const { object } = await fleet.node(i).post(steady?.path ?? '', {});
      return (object as { info: { provenance: { activator: { node: string } } } }).info.provenance.activator.node;
    };
    const disturbances = await Disturbances.begin(fleet, server, random, idOf);
    const records = all.use(new NodeRecords(server));
    return new Chaos({ owned: all.move(), fleet, service, random, kos, disturbances, records, onProblem });
  }

  /** @param seconds after which nothing more is done to it; then all must be whole again. */
  async run(seconds: number): Promise<ChaosReport> {
    const clients = [
      ...this.#kos.map((ko) => this.#changes(ko)),
      ...Array.from({ length: CALLERS }, () => this.#calls()),
      this.#reads(),
    ];
    const end = performance.now() + seconds * 1000;
    const all = Promise.all(clients);
    while (performance.now() < end && this.#problems.length < MOST_TOLD) {
      await wait(1000 + this.#random.below(6000));
      await this.#disturbances.next().catch((thrown: unknown) => this.#tell(`a disturbance: ${String(thrown)}`));
    }
    await wait(CATCH_UP_MS);
    this.#isOver = true;
    await all;
    for (const judge of this.#suspects) judge();
    await this.#assertWhole().catch((thrown: unknown) => this.#tell(`in the end: ${String(thrown)}`));
    return { problems: [...this.#problems, ...this.#kos.flatMap(({ problems }) => problems)], told: this.#summary() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  async #changes(ko: WatchedKo): Promise<void> {
    while (!this.#isOver) {
      await ko.change(this.#service, this.#random);
      await wait(this.#random.below(300));
    }
  }

  async #calls(): Promise<void> {
    using client = new KeptClient(this.#service.url);
    while (!this.#isOver) {
      const ko = this.#kos[this.#random.below(KOS)];
      assert.ok(ko !== undefined);
      await this.#call(client, ko);
      await wait(PAUSE_MS);
    }
  }

  async #call(client: KeptClient, ko: WatchedKo): Promise<void> {
    this.#counts.calls++;
    const began = performance.now();
    let answer;
    try {
      answer = await client.post(ko.path, {});
    } catch (thrown) {
      return this.#lost(ko, began, String(thrown));
    }
    const ended = performance.now();
    const { status, text, headers } = answer;
    if (status === 404) return this.#judge(ko, { version: undefined, node: undefined }, began, ended);
    if (
      status === 503 &&
      this.#disturbances.withoutDatabase(began, ended, CATCH_UP_MS) &&
      /cannot be read|not on this/.test(text)
    ) {
      this.#counts['without the package']++;
      return;
    }
    if (status !== 200) return this.#lost(ko, began, `${String(status)}: ${text.slice(0, 300)}`);
    const { result, info } = JSON.parse(text) as {
      result: number;
      info: { ko: { title: string }; provenance: { activator: { node: string } } };
    };
    if (String(result) !== info.ko.title) this.#tell(`${ko.name}: code ${String(result)}, metadata ${info.ko.title}`);
    if (headers['kgrid-package-digest'] !== ko.digestOf(result))
      this.#tell(`${ko.name}: the digest of ${String(result)} is ${String(headers['kgrid-package-digest'])}`);
    this.#judge(ko, { version: result, node: info.provenance.activator.node }, began, ended);
  }

  #judge(ko: WatchedKo, { version, node }: Answered, began: number, ended: number): void {
    if (ko.active(began, ended).has(version)) {
      this.#counts.judgedAtOnce++;
      return;
    }
    const since = this.#disturbances.mayLagSince(node, began, CATCH_UP_MS);
    if (ko.active(since, ended).has(version)) {
      this.#longestLag = Math.max(this.#longestLag, this.#lagOf(node, began));
      return;
    }
    const lately = this.#lately();
    this.#suspects.push(() => {
      const possible = ko.active(Math.min(since, this.#records.behindSince('generation', node, began)), ended);
      if (possible.has(version)) this.#counts['of a node behind']++;
      else {
        const could = [...possible].map(String).join(', ');
        this.#tell(`${ko.name}: ${String(version)} by ${String(node)}, when it could be ${could}`, lately);
      }
    });
  }

  /** Milliseconds since the last disturbance that concerned the node was over; none while one goes on. */
  #lagOf(node: string | undefined, at: number): number {
    const over = this.#disturbances.all
      .filter((each) => (each.node === undefined || node === undefined || each.node === node) && each.from <= at)
      .map(({ to }) => Math.min(to, at));
    return at - Math.max(...over);
  }

  #lost(ko: WatchedKo, began: number, why: string): void {
    if (this.#disturbances.mayBeLost(began, performance.now())) this.#counts.lost++;
    else this.#tell(`a call of ${ko.name} failed: ${why}`);
  }

  async #reads(): Promise<void> {
    while (!this.#isOver) {
      const ko = this.#kos[this.#random.below(KOS)];
      assert.ok(ko !== undefined);
      const began = performance.now();
      const answer = await this.#service.get(`/kos/${ko.id}`).catch((thrown: unknown) => String(thrown));
      const ended = performance.now();
      this.#counts.reads++;
      if (typeof answer === 'string' || ![200, 404].includes(answer.status))
        this.#lost(ko, began, `a read: ${typeof answer === 'string' ? answer : answer.text.slice(0, 300)}`);
      else {
        const version = answer.status === 404 ? undefined : Number(answer.object['title']);
        const since = this.#disturbances.mayLagSince(undefined, began, CATCH_UP_MS);
        if (!ko.shelf(since, ended).has(version)) {
          const lately = this.#lately();
          this.#suspects.push(() => {
            const possible = ko.shelf(Math.min(since, this.#records.behindSince('revision', undefined, began)), ended);
            if (possible.has(version)) this.#counts['of a node behind']++;
            else
              this.#tell(
                `${ko.name}: ${String(version)} was read, when it could be ${[...possible].join(', ')}`,
                lately,
              );
          });
        }
        if (version !== undefined && answer.headers['kgrid-package-digest'] !== ko.digestOf(version))
          this.#tell(`${ko.name}: the digest of ${String(version)} on the shelf is another`);
      }
      await wait(PAUSE_MS);
    }
  }

  /** All nodes have the same, which is what may be there, and are well. */
  async #assertWhole(): Promise<void> {
    for (const node of this.#fleet.nodes) await untilWell(node);
    for (const ko of this.#kos)
      for (const node of this.#fleet.nodes) {
        const now = performance.now();
        const called = await node.post(ko.path, {});
        const active = called.status === 200 ? Number(called.object['result']) : undefined;
        if (!ko.active(now, now).has(active))
          this.#tell(
            `in the end ${ko.name} runs ${String(active)} on ${node.url}, not ${[...ko.active(now, now)].join(', ')}: ${called.text.slice(0, 200)}`,
          );
        const read = await node.get(`/kos/${ko.id}`);
        const there = read.status === 200 ? Number(read.object['title']) : undefined;
        if (!ko.shelf(now, now).has(there))
          this.#tell(
            `in the end ${ko.name} is ${String(there)} on the shelf of ${node.url}, not ${[...ko.shelf(now, now)].join(', ')}`,
          );
      }
  }

  #tell(problem: string, lately = this.#lately()): void {
    const told = `${lately.at}: ${problem} (${lately.disturbances})`;
    this.#problems.push(told);
    this.#onProblem(told);
  }

  #lately(): { readonly at: string; readonly disturbances: string } {
    const seconds = ((performance.now() - this.#began) / 1000).toFixed(1);
    const lately = this.#disturbances.all
      .slice(-3)
      .map(
        ({ kind, from, to }) =>
          `${kind} ${((from - this.#began) / 1000).toFixed(1)}–${((to - this.#began) / 1000).toFixed(1)}`,
      );
    return { at: `${seconds} s`, disturbances: lately.join('; ') };
  }

  #summary(): string[] {
    const kinds = Map.groupBy(this.#disturbances.all, ({ kind }) => kind);
    const changes = this.#kos.map(({ counts }) => counts);
    const sum = (change: 'import' | 'reload' | 'delete'): string =>
      (['acknowledged', 'refused', 'unknown'] as const)
        .map((outcome) => `${String(changes.reduce((all, each) => all + each[change][outcome], 0))} ${outcome}`)
        .join(', ');
    return [
      `done to it: ${[...kinds].map(([kind, each]) => `${kind} ${String(each.length)}`).join(', ')}`,
      ...(['import', 'reload', 'delete'] as const).map((change) => `${change}: ${sum(change)}`),
      Object.entries(this.#counts)
        .map(([what, count]) => `${what} ${String(count)}`)
        .join(', '),
      `a node gave what was there before at most ${(this.#longestLag / 1000).toFixed(1)} s after it could follow again`,
    ];
  }
}
