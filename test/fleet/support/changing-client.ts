/**
 * A client that changes one KO of its own through any node, and knows what may be there: what was acknowledged, and of
 * the one change that had no answer the old and the new.
 */
import assert from 'node:assert/strict';
import type { Answer } from '../../acceptance/support/client.ts';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import type { Client } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, zipOf } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import { unzip } from '../../acceptance/support/unzip.ts';
import type { Random } from '../../support/random.ts';

/** Of a KO: the generations of its files and its metadata on the shelf, and of what runs. */
export interface KoState {
  readonly files: number | undefined;
  readonly metadata: number | undefined;
  readonly active: number | undefined;
}

type Change = 'import' | 'metadata' | 'delete' | 'reload';

/** Every file tells its generation, and of each some files are gone and others new. */
function koOf(naan: string, name: string, generation: number): Ko {
  const text = `generation ${generation}\n`;
  return javascriptKo(`function run() { return ${generation}; }`, {
    naan,
    name,
    metadata: { description: text },
    files: { 'a.txt': text.repeat(5000), [`only-${generation}.txt`]: text, 'src/deep/b.txt': text.repeat(50) },
  });
}

export class ChangingClient {
  /** How often each change was acknowledged. */
  readonly acknowledged: Record<Change, number> = { import: 0, metadata: 0, delete: 0, reload: 0 };
  readonly #naan: string;
  readonly #name: string;
  readonly #random: Random;
  #possible: readonly KoState[] = [{ files: undefined, metadata: undefined, active: undefined }];

  constructor(naan: string, name: string, random: Random) {
    this.#naan = naan;
    this.#name = name;
    this.#random = random;
  }

  get total(): number {
    return Object.values(this.acknowledged).reduce((sum, each) => sum + each, 0);
  }

  /**
   * Changes it until `isOver`, or a change has no answer.
   * @param excuses answers beside those of a whole fleet after which nothing was changed, such as 503 without a database.
   */
  async run(
    node: () => Client,
    isOver: () => boolean,
    onAcknowledged: () => void,
    excuses: number[] = [],
  ): Promise<void> {
    while (!isOver()) {
      const [before] = this.#possible;
      assert.ok(before !== undefined && this.#possible.length === 1);
      const change = this.#nextChange(before);
      const next = 1 + this.#random.below(1e9);
      const after = afterwards(change, before, next);
      this.#possible = [before, after];
      const answer = await this.#ask(node(), change, next, before).catch(() => undefined);
      if (answer === undefined) return;
      if (excuses.includes(answer.status)) {
        this.#possible = [before];
        continue;
      }
      const wanted = { import: 200, metadata: 200, delete: 204, reload: 303 }[change];
      assert.equal(answer.status, wanted, `${change} of ${this.#name}: ${answer.text}`);
      this.#possible = [after];
      this.acknowledged[change]++;
      onAcknowledged();
    }
  }

  /** Finds what is there on each node: possible, whole, and the same everywhere. */
  async check(nodes: readonly Client[]): Promise<void> {
    const states = await Promise.all(nodes.map((each) => this.#stateOn(each)));
    for (const state of states) assert.deepEqual(state, states[0], `${this.#name}: all nodes have the same`);
    const [state] = states;
    const isPossible = this.#possible.some((each) => JSON.stringify(each) === JSON.stringify(state));
    assert.ok(
      state !== undefined && isPossible,
      `${this.#name} is ${JSON.stringify(state)}, not ${JSON.stringify(this.#possible)}`,
    );
    this.#possible = [state];
  }

  #nextChange({ files, active }: KoState): Change {
    const turn = this.#random.below(10);
    if (files === undefined) return active !== undefined && turn < 3 ? 'reload' : 'import';
    return turn < 4 ? 'import' : turn < 6 ? 'metadata' : turn < 7 ? 'delete' : 'reload';
  }

  async #ask(node: Client, change: Change, next: number, { files = 0 }: KoState): Promise<Answer> {
    const { id, metadata } = koOf(this.#naan, this.#name, files);
    switch (change) {
      case 'import':
        return node.importZip(await zipOf(koOf(this.#naan, this.#name, next).files, '', { compress: false }));
      case 'metadata':
        return node.put(`/kos/${id}`, { ...metadata, description: `generation ${next}\n` });
      case 'delete':
        return node.delete(`/kos/${id}`);
      case 'reload':
        return node.get(`/actuator/activation/reload/${id}`);
    }
  }

  async #stateOn(node: Client): Promise<KoState> {
    const ko = koOf(this.#naan, this.#name, 0);
    const called = await node.post(pathOf(ko), {});
    assert.ok([200, 404].includes(called.status), called.text);
    const active = called.status === 404 ? undefined : Number(called.object['result']);
    const exported = await node.get(`/kos/${ko.id}?format=zip`);
    if (exported.status === 404) return { files: undefined, metadata: undefined, active };
    assert.equal(exported.status, 200, exported.text);
    const found = Object.fromEntries(
      (await unzip(exported.bytes)).map(({ path, bytes }) => [path.slice(path.indexOf('/') + 1), bytes.toString()]),
    );
    const files = Number(/generation (\d+)/.exec(found['a.txt'] ?? '')?.[1]);
    const { description = '' } = JSON.parse(found['metadata.json'] ?? '{}') as { description?: string };
    const expected = Object.fromEntries(
      Object.entries(koOf(this.#naan, this.#name, files).files).map(([path, content]) => [path, content.toString()]),
    );
    assert.deepEqual({ ...found, 'metadata.json': '' }, { ...expected, 'metadata.json': '' }, 'it is one version');
    return { files, metadata: Number(/\d+/.exec(description)?.[0]), active };
  }
}

function afterwards(change: Change, before: KoState, next: number): KoState {
  switch (change) {
    case 'import':
      return { ...before, files: next, metadata: next };
    case 'metadata':
      return { ...before, metadata: next };
    case 'delete':
      return { ...before, files: undefined, metadata: undefined };
    case 'reload':
      return { ...before, active: before.files };
  }
}
