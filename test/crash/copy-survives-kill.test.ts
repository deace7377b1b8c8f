/** `kgrid shelf copy` that is killed again and again leaves in the end what an undisturbed one leaves, either way. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { openShelf } from '../../src/shelf/stores.ts';
import type { Shelf } from '../../src/shelf/shelf.ts';
import { LAUNCHER } from '../cli/kgrid.ts';
import { contentOn, filesOf, put } from '../conformance/shelf-packages.ts';
import { temporaryFolder } from '../conformance/temporary-folder.ts';
import { testDatabase } from '../support/postgres/shared.ts';
import { Random } from '../support/random.ts';
import { inRound } from '../support/round.ts';

const KOS = inRound(12, 60);
const KILLS = inRound(1, 8);

const database = await testDatabase();
const folder = await temporaryFolder();
after(async () => {
  await database[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const [first, last] = [join(folder.path, 'first'), join(folder.path, 'last')];
const idOf = (i: number): string => `a/ko${String(i)}/v1`;

/** Kills it a little after it has said that so many are copied; undefined: lets it come to its end. */
async function copy(from: string, to: string, kill?: { readonly after: number; readonly ms: number }): Promise<string> {
  const child = spawn(process.execPath, [LAUNCHER, 'shelf', 'copy', from, to], {
    env: { PATH: process.env['PATH'], XDG_CACHE_HOME: join(folder.path, 'cache') },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const lines: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    if (lines.length !== kill?.after || child.pid === undefined) return;
    const { pid } = child;
    timer = setTimeout(() => process.kill(-pid, 'SIGKILL'), kill.ms);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  if (kill === undefined) assert.equal(code, 0, lines.join('\n'));
  return lines.at(-1) ?? '';
}

async function assertLike(one: Shelf, other: Shelf): Promise<void> {
  assert.deepEqual(await other.list(), await one.list());
  for (let i = 0; i < KOS; i++) assert.deepEqual(await contentOn(other, idOf(i)), await contentOn(one, idOf(i)));
}

test('a copy that is killed goes on where it was, into a database and out of it, and mixes nothing', async (t) => {
  const seed = Number(process.env['KGRID_TEST_SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${String(seed)}`);
  const random = new Random(seed);
  {
    await using shelf = await openShelf(first);
    for (let i = 0; i < KOS; i++) await put(shelf, idOf(i), filesOf(idOf(i), { 'x.js': 'x'.repeat(i * 20_000) }));
  }
  for (const [from, to] of [
    [first, database.url],
    [database.url, last],
  ] as const) {
    for (let i = 0; i < KILLS; i++)
      await copy(from, to, { after: 1 + random.below(Math.ceil(KOS / KILLS / 2)), ms: random.below(20) });
    assert.match(
      await copy(from, to),
      new RegExp(`^\\d+ knowledge objects? copied, [1-9]\\d* there already, 0 failed$`),
    );
  }
  await using source = await openShelf(first);
  await using middle = await openShelf(database.url, { copies: join(folder.path, 'copies'), isNode: false });
  await using target = await openShelf(last);
  await assertLike(source, middle);
  await assertLike(source, target);
});
