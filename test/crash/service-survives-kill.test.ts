/**
 * The service is killed while clients import, replace and delete. What it had acknowledged is there after the next
 * start, what it had not is there or not; everything that is there is whole, and runs.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { unzip } from '../acceptance/support/unzip.ts';
import { kgrid } from '../cli/kgrid.ts';
import { Random } from '../support/random.ts';
import { inRound } from '../support/round.ts';

const ROUNDS = inRound(1, 6);
const NAMES = ['one', 'two', 'three', 'four'];
const naan = uniqueNaan();

/** Every file tells its generation, and of each some files are gone and others new. */
function koOf(name: string, generation: number): Ko {
  const text = `generation ${generation}\n`;
  return javascriptKo(`function run() { return ${generation}; }`, {
    naan,
    name,
    metadata: { description: text },
    files: { 'a.txt': text.repeat(5000), [`only-${generation}.txt`]: text, 'src/deep/b.txt': text.repeat(50) },
  });
}

/** What may be on the shelf under each name: undefined for nothing. One generation, or two while a change goes on. */
type Possible = Map<string, readonly (number | undefined)[]>;

/** Changes one KO again and again until the service is gone. */
async function changeOn(
  service: OwnService,
  name: string,
  possible: Possible,
  random: Random,
  acknowledge: () => void,
): Promise<number> {
  for (let acknowledged = 0; ; acknowledged++) {
    const [before] = possible.get(name) ?? [];
    const next = before !== undefined && random.below(4) === 0 ? undefined : 1 + random.below(1e9);
    possible.set(name, [before, next]);
    const { id } = koOf(name, 0);
    const change = async (): Promise<{ status: number; text: string }> =>
      next === undefined
        ? service.delete(`/kos/${id}`)
        : service.importZip(await zipOf(koOf(name, next).files, '', { compress: false }));
    const answer = await change().catch(() => undefined);
    if (answer === undefined) return acknowledged;
    assert.equal(answer.status, next === undefined ? 204 : 200, answer.text);
    possible.set(name, [next]);
    acknowledge();
  }
}

/** Finds which of the generations is there, whole. */
async function checkedGeneration(service: OwnService, name: string, possible: Possible): Promise<number | undefined> {
  const { id } = koOf(name, 0);
  const exported = await service.get(`/kos/${id}?format=zip`);
  const allowed = possible.get(name) ?? [undefined];
  if (exported.status === 404) {
    assert.ok(allowed.includes(undefined), `${name} is missing, not generation ${allowed.join(' or ')}`);
    return undefined;
  }
  assert.equal(exported.status, 200, exported.text);
  const found = (await unzip(exported.bytes)).map(({ path, bytes }) => [
    path.slice(path.indexOf('/') + 1),
    bytes.toString(),
  ]);
  const called = await service.post(pathOf(koOf(name, 0)), {});
  const generation = Number(called.object['result']);
  assert.ok(allowed.includes(generation), `${name} is generation ${generation}, not ${allowed.join(' or ')}`);
  const { files } = koOf(name, generation);
  assert.deepEqual(
    Object.fromEntries(found),
    Object.fromEntries(Object.entries(files).map(([path, content]) => [path, content.toString()])),
  );
  return generation;
}

/** A change and its record are one transaction: the last record of each KO says what is there. @returns how many records there are. */
async function checkedAudit(shelf: string): Promise<number> {
  using database = new DatabaseSync(join(shelf, '.kgrid/shelf.db'), { readOnly: true });
  const rows = database.prepare('SELECT id, digest FROM ko WHERE removed = 0').all();
  const digests = new Map(rows.map(({ id, digest }) => [id, digest]));
  const records = database
    .prepare('SELECT record FROM audit ORDER BY id')
    .all()
    .map(({ record }) => JSON.parse(String(record)) as { action: string; subject: string; digest?: string })
    .filter(({ action }) => action === 'import' || action === 'delete');
  for (const name of NAMES) {
    const { id } = koOf(name, 0);
    const last = records.findLast(({ subject }) => subject === id);
    assert.equal(digests.get(id), last?.action === 'import' ? last.digest : undefined, `${name}: ${last?.action}`);
  }
  const verified = await kgrid(['audit', 'verify', shelf]);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  return records.length;
}

test('a service that is killed while clients change the shelf has lost and mixed nothing', async (t) => {
  const seed = Date.now() % 2 ** 31;
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  await using shelf = await temporaryFolder();
  const possible: Possible = new Map();
  let acknowledged = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    await using service = await startService({ shelf: shelf.path });
    for (const name of NAMES) possible.set(name, [await checkedGeneration(service, name, possible)]);
    const health = (await service.get('/actuator/health')).object['components'] as Record<
      string,
      { details: { failures?: unknown } }
    >;
    assert.deepEqual(health['activationService']?.details.failures, []);
    if (round === ROUNDS) break;
    // A slow machine acknowledges nothing for a while: it is killed in the middle of changes, wherever that is in time.
    let left = 1 + random.below(12);
    const enough = Promise.withResolvers<undefined>();
    const acknowledge = (): void => void (--left === 0 && enough.resolve(undefined));
    const clients = NAMES.map((name) => changeOn(service, name, possible, random, acknowledge));
    await Promise.race([enough.promise, Promise.all(clients)]);
    await later(random.below(100));
    await service.stop('SIGKILL');
    for (const count of await Promise.all(clients)) acknowledged += count;
    const records = await checkedAudit(shelf.path);
    assert.ok(records >= acknowledged, `${records} records of ${acknowledged} changes that were acknowledged`);
  }
  assert.ok(acknowledged >= ROUNDS, `${acknowledged} changes were acknowledged`);
  t.diagnostic(`${acknowledged} changes were acknowledged`);
});
