/** Code that is slow but does nothing wrong, and code that nobody has called yet, beside code that never ends. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import type { Answer } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { explode } from '../acceptance/support/folders.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';

const LIMIT = 1500;
const service = await startService({ args: ['--execution-timeout', `${LIMIT}ms`] });
after(() => service[Symbol.asyncDispose]());

const naan = uniqueNaan();
const named = (name: string, body: string): Ko => javascriptKo(`function run(n) { ${body} }`, { naan, name });
const runaways = Array.from({ length: 6 }, (_, i) => named(`runaway${i}`, 'while (true);'));
const slow = named('slow', 'const end = Date.now() + 150; while (Date.now() < end); return n + 1;');
const unknownKos = Array.from({ length: 10 }, (_, i) => named(`new${i}`, 'return n + 1;'));
await service.serve(...runaways, slow, ...unknownKos);

/** Calls it until it has run into its limit. */
async function showItself(runaway: Ko): Promise<void> {
  for (let status = 503; status === 503;) ({ status } = await service.post(pathOf(runaway), 1));
}

/** Two clients at each runaway, until `end` is called. */
function attack(): { end: () => Promise<Answer[]> } {
  let over = false;
  const clients = [...runaways, ...runaways].map(async (ko) => {
    const answers: Answer[] = [];
    while (!over) answers.push(await service.post(pathOf(ko), 1));
    return answers;
  });
  return {
    end: async () => {
      over = true;
      return (await Promise.all(clients)).flat();
    },
  };
}

test('slow code and newcomers are answered beside six KOs that never end', async () => {
  assert.equal((await service.post(pathOf(slow), 1)).object['result'], 2);
  await Promise.all(runaways.map(showItself));
  const attackers = attack();
  await later(LIMIT);
  for (let n = 0; n < 12; n++) {
    const unknownKo = unknownKos[n];
    const [answer, first] = await Promise.all([
      service.post(pathOf(slow), n),
      unknownKo === undefined ? undefined : service.post(pathOf(unknownKo), n),
    ]);
    assert.equal(answer.object['result'], n + 1, answer.text);
    if (first !== undefined) assert.equal(first.object['result'], n + 1, first.text);
  }
  const refused = await attackers.end();
  assert.ok(refused.length >= runaways.length);
  for (const { status, text } of refused) assert.ok(status === 500 || status === 503, text);
});

test('the time that code may take to load begins when it is loaded, not while it waits for others', async () => {
  const loading = (name: string, milliseconds: number): Ko =>
    // The same code would be loaded once.
    javascriptKo(
      `// ${name}\nconst end = Date.now() + ${milliseconds}; while (Date.now() < end);\nfunction run(n) { return n; }`,
      { naan, name },
    );
  // Each is quick enough to keep its place, and together they take longer than the limit.
  const before = Array.from({ length: 8 }, (_, i) => loading(`a${i}`, LIMIT / 5));
  const all = [...before, loading('b', LIMIT * 0.6)];
  await using shelf = await temporaryFolder();
  for (const ko of all) await explode(ko, shelf.path, ko.name);
  await using starting = await startService({
    shelf: shelf.path,
    early: true,
    args: ['--execution-timeout', `${LIMIT}ms`],
  });
  // Each call asks for its endpoint to come next.
  const answers = await Promise.all(all.map((ko) => starting.post(pathOf(ko), 1)));
  for (const { status, text } of answers) assert.equal(status, 200, text);
});
