/** What holds for a fleet that is well, and what holds for one without its database. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer } from '../../acceptance/support/client.ts';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import type { Client } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, zipOf } from '../../acceptance/support/ko.ts';
import type { Ko } from '../../acceptance/support/ko.ts';

/** Milliseconds in which a fault has healed, on a slow machine too. */
const HEALED_WITHIN_MS = 40_000;
/** Milliseconds in which a change is answered whatever the database does. */
export const LONGEST_CHANGE_MS = 35_000;

export interface Component {
  readonly status: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export const saying = (naan: string, name: string, words: string): Ko =>
  javascriptKo(`function run() { return ${JSON.stringify(words)}; }`, { naan, name });

export const said = async (nodes: readonly Client[], ko: Ko): Promise<unknown[]> =>
  Promise.all(nodes.map(async (node) => (await node.post(pathOf(ko), {})).object['result']));

/** Asks until it is so. */
export async function until(what: string, isSo: () => Promise<boolean>, within = HEALED_WITHIN_MS): Promise<void> {
  const end = performance.now() + within;
  while (!(await isSo())) {
    if (performance.now() > end) assert.fail(`${what}: not within ${within / 1000} s`);
    await wait(50);
  }
}

export async function componentsOf(node: Client): Promise<Readonly<Record<string, Component>>> {
  return (await node.get('/actuator/health')).object['components'] as Record<string, Component>;
}

export async function untilWell(node: Client): Promise<void> {
  let said: unknown;
  await until(`${node.url} is well`, async () => {
    const { fleet, shelf } = await componentsOf(node);
    said = { fleet, shelf };
    return fleet?.status === 'UP' && shelf?.status === 'UP';
  }).catch((thrown: unknown) => {
    throw new Error(JSON.stringify(said), { cause: thrown });
  });
}

/** All nodes take changes and are level with each other. */
export async function assertHeals(nodes: readonly Client[], naan: string, words: string): Promise<void> {
  const ko = saying(naan, 'healed', words);
  for (const node of nodes) {
    const zip = await zipOf(ko.files);
    await until(`changes through ${node.url} are made again`, async () => (await node.importZip(zip)).status === 200);
    await until('a reload is made again', async () => {
      const { status } = await node.get(`/actuator/activation/reload/${ko.id}`);
      return status === 303;
    });
  }
  const expected = nodes.map(() => words);
  await until('all nodes run it', async () => String(await said(nodes, ko)) === String(expected));
  for (const node of nodes) await untilWell(node);
}

/** Calls and reads go on, readiness stays `UP`. */
export async function assertServes(node: Client, ko: Ko, words: string): Promise<void> {
  assert.equal((await node.post(pathOf(ko), {})).object['result'], words);
  assert.equal((await node.get(`/kos/${ko.id}`)).status, 200);
  assert.ok((await node.get('/kos')).list.length > 0);
  assert.equal((await node.get(`/kos/${ko.id}?format=zip`)).status, 200);
  assert.equal((await node.get('/actuator/health/readiness')).status, 200);
}

/** Each kind of change is refused in time, in the words of the contract, and says when to come again. */
export async function assertRefusesChanges(node: Client, ko: Ko, status: number, words: RegExp): Promise<void> {
  const changes: (() => Promise<Answer>)[] = [
    async () => node.importZip(await zipOf(saying(ko.naan, 'refused', 'x').files)),
    () => node.put(`/kos/${ko.id}`, { ...ko.metadata, title: 'refused' }),
    () => node.delete(`/kos/${ko.id}`),
    () => node.get(`/actuator/activation/reload/${ko.id}`),
  ];
  for (const [i, change] of changes.entries()) {
    const began = performance.now();
    const answer = await change();
    const took = performance.now() - began;
    assert.equal(answer.status, status, `${i}: ${answer.text}`);
    assert.match(answer.text, words);
    if (status === 503) assert.ok(Number(answer.headers['retry-after']) > 0, 'it says when to try again');
    assert.ok(took < LONGEST_CHANGE_MS, `it was refused after ${took} ms`);
  }
}
