/**
 * Nodes of a fleet are killed, one after the other, while clients change the shelf and what is active through all of
 * them: what was acknowledged is there on every node, and nothing is half.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { Random } from '../support/random.ts';
import { inRound } from '../support/round.ts';
import { ChangingClient } from './support/changing-client.ts';
import { theFleet } from './support/the-fleet.ts';

const ROUNDS = inRound(1, 50);
const fleet = await theFleet();
const NAMES = ['one', 'two', 'three', 'four', 'five', 'six'].slice(0, inRound(3, 6));

test('nodes that are killed at any step of a change have lost and mixed nothing', async (t) => {
  const seed = Number(process.env['KGRID_TEST_SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const naan = uniqueNaan();
  const clients = NAMES.map((name, i) => new ChangingClient(naan, name, new Random(seed + i)));
  for (let round = 0; round < ROUNDS; round++) {
    const victim = random.below(3);
    // A slow machine acknowledges little: it is killed in the midst of changes, wherever that is in time.
    let left = 1 + random.below(inRound(5, 20));
    let isOver = false;
    const enough = Promise.withResolvers<undefined>();
    const anyNode = () => fleet.node(random.below(3));
    const running = clients.map((each) =>
      each.run(
        anyNode,
        () => isOver,
        () => void (--left === 0 && enough.resolve(undefined)),
      ),
    );
    const all = Promise.all(running);
    await Promise.race([enough.promise, all]);
    await later(random.below(60));
    await fleet.node(victim).stop('SIGKILL');
    isOver = true;
    // What waits for it goes on with it.
    await Promise.all([all, fleet.restart(victim)]);
    for (const each of clients) await each.check(fleet.nodes);
  }
  const done = clients.reduce((sum, { total }) => sum + total, 0);
  t.diagnostic(`${done} changes were acknowledged: ${JSON.stringify(clients.map(({ acknowledged }) => acknowledged))}`);
  assert.ok(done >= ROUNDS);
});
