/** A shelf of version 0.1 whose takeover is killed is the old one, whole, until the new one is there, whole. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { mapBounded } from '../../src/lib/fair-queue.ts';
import { openStorage } from '../../src/shelf/open-storage.ts';
import { StoredShelf } from '../../src/shelf/store/stored-shelf.ts';
import { kgrid } from '../cli/kgrid.ts';
import { temporaryFolder } from '../conformance/temporary-folder.ts';
import { inRound } from '../support/round.ts';
import { checkShelf, judge, lostOf } from './check-shelf.ts';
import { KEPT, ON_SHELF, writeOldShelf } from './old-shelf.ts';
import { treeOf } from './tree.ts';

const folder = await temporaryFolder();
after(() => folder[Symbol.asyncDispose]());
const origin = join(folder.path, 'origin');
writeOldShelf(origin);
const old = treeOf(origin);

/** @returns the steps, where it was not killed. */
async function takeOver(dir: string, killAt = -1): Promise<string[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'take-over.ts'), dir, String(killAt)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder.path, 'cache') },
  });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  const output = await text(child.stdout);
  const [code, signal] = await ended;
  if (killAt !== -1) assert.equal(signal, 'SIGKILL');
  else assert.equal(code, 0);
  return killAt === -1 ? (JSON.parse(output) as string[]) : [];
}

function assertOldIsWhole(dir: string): void {
  const found = treeOf(dir);
  for (const [path, content] of old) assert.equal(found.get(path), content, path);
}

async function assertTakenOver(dir: string): Promise<void> {
  {
    await using storage = await openStorage({
      location: dir,
      folder: undefined,
      maxAudit: 2 ** 20,
      onWarning: assert.fail,
    });
    const { shelf } = storage;
    assert.ok(shelf instanceof StoredShelf);
    assert.deepEqual(shelf.damage(), []);
    assert.equal((await shelf.list()).length, ON_SHELF.size);
    assert.equal((await shelf.removed()).length, KEPT.size);
    await shelf.collect(Date.now() + 3_601_000);
  }
  const findings = checkShelf(dir);
  assert.deepEqual(judge(findings, new Map([...ON_SHELF].map(([id, state]) => [id, [state]]))).problems, []);
  assert.deepEqual(lostOf(findings, KEPT), []);
  assert.deepEqual(findings.leftovers, []);
  const home = join(dir, '.kgrid');
  assert.deepEqual(
    readdirSync(home).filter((name) => /part|upgrading|^index|^kept|^audit$/.test(name)),
    [],
  );
  // What was put aside is all that was there.
  const aside = treeOf(join(home, 'before-0.2'));
  for (const [path, content] of old) {
    const [, inHome] = /^\.kgrid\/((?:objects|index|kept)\/.*)$/.exec(path) ?? [];
    if (inHome !== undefined) assert.equal(aside.get(inHome), content, path);
  }
  const { code, stdout, stderr } = await kgrid(['audit', 'verify', dir]);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^5 records of .*^2 records from before there was a chain/ms);
}

test('a takeover that is killed at any of its steps leaves the old shelf or the new one, and goes on at the next start', async () => {
  const whole = join(folder.path, 'whole');
  cpSync(origin, whole, { recursive: true });
  const steps = await takeOver(whole);
  await assertTakenOver(whole);
  // In the short round the last of those that leave something else behind.
  const isWanted = inRound(
    (step: string, index: number) =>
      /object$|ko$|^COMMIT|^move|^sync (?:database|folder)|head SET/.test(step) && steps.lastIndexOf(step) === index,
    () => true,
  );
  const chosen = [...steps.entries()].filter(([index, step]) => isWanted(step, index));
  assert.ok(chosen.length > 10);
  await mapBounded(chosen, 2, async ([index, step]) => {
    const dir = join(folder.path, String(index));
    cpSync(origin, dir, { recursive: true });
    try {
      await takeOver(dir, index);
      if (index <= steps.indexOf('move database')) assertOldIsWhole(dir);
      else assert.ok(existsSync(join(dir, '.kgrid/shelf.db')));
      await assertTakenOver(dir);
    } catch (thrown) {
      throw new Error(`killed at ${String(index)}, "${step}"`, { cause: thrown });
    }
  });
});
