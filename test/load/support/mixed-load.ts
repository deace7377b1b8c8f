/**
 * Clients who import, replace, read, call, reload and delete the same knowledge objects at the same time. Every
 * answer must be one complete version that was there at that time, and the end what was acknowledged last.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Answer } from '../../acceptance/support/client.ts';
import { checkShelf } from '../../../src/shelf/store/check-shelf.ts';
import { javascriptKo, uniqueNaan, zipOf } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';
import type { OwnService } from '../../acceptance/support/service.ts';
import { unzip } from '../../acceptance/support/unzip.ts';
import { History } from './history.ts';
import { Random } from '../../support/random.ts';

const OPERATIONS = {
  import: 20,
  metadata: 15,
  export: 15,
  file: 10,
  call: 30,
  reload: 8,
  remove: 6,
  refresh: 1,
  list: 5,
};
const LARGEST = 100_000;

interface Target {
  readonly name: string;
  readonly id: string;
  readonly history: History;
}

export interface MixedLoadOptions {
  readonly seconds: number;
  readonly seed: number;
  readonly clients?: number;
  readonly kos?: number;
}

/** Resolves with how much was done. */
export async function runMixedLoad(service: OwnService, options: MixedLoadOptions): Promise<Record<string, number>> {
  const load = new MixedLoad(service, options);
  await load.run();
  await load.assertEnd();
  return load.counts;
}

class MixedLoad {
  readonly counts: Record<string, number> = {};
  readonly #service: OwnService;
  readonly #options: MixedLoadOptions;
  readonly #naan = uniqueNaan();
  readonly #targets: readonly Target[];
  #numbers = 0;

  constructor(service: OwnService, options: MixedLoadOptions) {
    this.#service = service;
    this.#options = options;
    this.#targets = Array.from({ length: options.kos ?? 3 }, (_, i) => ({
      name: `ko${i}`,
      id: `${this.#naan}/ko${i}/v1.0`,
      history: new History(),
    }));
  }

  async run(): Promise<void> {
    const { seconds, seed, clients = 20 } = this.#options;
    const until = performance.now() + seconds * 1000;
    await Promise.all(
      Array.from({ length: clients }, async (_, i) => {
        const random = new Random(seed + i);
        while (performance.now() < until) {
          const operation = random.weighted(OPERATIONS);
          const target = this.#targets[random.below(this.#targets.length)];
          if (target === undefined) return;
          await this.#do(operation, target);
          this.counts[operation] = (this.counts[operation] ?? 0) + 1;
        }
      }),
    );
  }

  /** The shelf has what was acknowledged last, runs it, and keeps nothing else. */
  async assertEnd(): Promise<void> {
    let present = 0;
    for (const target of this.#targets) {
      const began = performance.now();
      const number = await this.#exported(target);
      target.history.read(number, began);
      assert.deepEqual(target.history.problems(), [], target.id);
      const reloaded = await this.#service.get(`/actuator/activation/reload/${target.id}`);
      assert.equal(reloaded.status, number === undefined ? reloaded.status : 303, reloaded.text);
      const called = await this.#service.post(`/${this.#naan}/${target.name}/1.0/run`, {});
      assert.equal(called.object['result'], number, called.text);
      if (number !== undefined) present++;
    }
    assert.equal((await this.#service.get('/kos')).list.filter((ko) => this.#isOwn(ko)).length, present);
    assert.deepEqual(await readdir(join(this.#service.shelf, '.kgrid/staging')), []);
    const { damaged, database, whole } = await checkShelf(this.#service.shelf);
    assert.deepEqual([damaged, database], [[], undefined]);
    assert.ok(whole >= (await this.#service.get('/kos')).list.length, 'what is retained is there too');
  }

  async #do(operation: keyof typeof OPERATIONS, target: Target): Promise<void> {
    const { id, name, history } = target;
    const began = performance.now();
    if (operation === 'import') {
      const number = ++this.#numbers;
      expect(await this.#service.importZip(await zipOf(numbered(this.#naan, name, number).files)), 200);
      history.changed(number, began);
    } else if (operation === 'remove') {
      const answer = expect(await this.#service.delete(`/kos/${id}`), 204, 404);
      // Where nothing was there, nothing was changed.
      if (answer.status === 204) history.changed(undefined, began);
    } else if (operation === 'metadata') {
      const answer = expect(await this.#service.get(`/kos/${id}`), 200, 404);
      history.read(answer.status === 404 ? undefined : Number(answer.object['title']), began);
    } else if (operation === 'export') history.read(await this.#exported(target), began);
    else if (operation === 'file') {
      const answer = expect(await this.#service.get(`/kos/${id}/content.txt`), 200, 404);
      const number = answer.status === 404 ? undefined : Number(answer.text.split('\n', 1)[0]);
      if (number !== undefined) assert.equal(answer.text, contentOf(number));
      history.read(number, began);
    } else if (operation === 'call') {
      const answer = expect(await this.#service.post(`/${this.#naan}/${name}/1.0/run`, {}), 200, 404);
      if (answer.status === 404) return;
      const { result, info } = answer.object as { result: number; info: { ko: { title: string } } };
      assert.equal(String(result), info.ko.title, 'code and metadata are of one version');
    } else if (operation === 'reload') expect(await this.#service.get(`/actuator/activation/reload/${id}`), 303, 404);
    else if (operation === 'refresh') expect(await this.#service.get('/actuator/activation/refresh'), 303);
    else for (const ko of expect(await this.#service.get('/kos'), 200).list) assert.equal(typeof ko['@id'], 'string');
  }

  /** The number that all of an export agrees on. */
  async #exported({ id }: Target): Promise<number | undefined> {
    const answer = expect(await this.#service.get(`/kos/${id}?format=zip`), 200, 404);
    if (answer.status === 404) return undefined;
    const files = new Map(
      (await unzip(answer.bytes)).map((entry) => [entry.path.split('/').slice(1).join('/'), entry.bytes.toString()]),
    );
    const { title } = JSON.parse(files.get('metadata.json') ?? '') as { title: string };
    const number = Number(title);
    assert.equal(files.get('content.txt'), contentOf(number), 'an export is one version');
    assert.equal(files.get('src/index.js'), codeOf(number), 'an export is one version');
    return number;
  }

  #isOwn(ko: Record<string, unknown>): boolean {
    return String(ko['@id']).startsWith(`${this.#naan}/`);
  }
}

function expect(answer: Answer, ...allowed: number[]): Answer {
  assert.ok(allowed.includes(answer.status), `${answer.status}: ${answer.text.slice(0, 500)}`);
  return answer;
}

const codeOf = (number: number): string => `function run() { return ${number}; }`;
const contentOf = (number: number): string => `${number}\n${'x'.repeat((number * 7919) % LARGEST)}`;
const numbered = (naan: string, name: string, number: number): Ko =>
  javascriptKo(codeOf(number), {
    naan,
    name,
    metadata: { title: String(number) },
    files: { 'content.txt': contentOf(number) },
  });
