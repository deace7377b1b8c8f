/**
 * The process that is killed. Arguments: store, shelf folder, journal, and either
 * `random SEED` (changes without end, `ready` after the first), or `at STEP OP` (one change of KO `a/b/v1`, ending itself at that step; with
 * STEP -1 it names the steps on stdout and lives).
 */
import type { Id } from './generations.ts';
import { Journal, type Change } from './journal.ts';
import { makeChange, nextChange } from './make-change.ts';
import { stores, type StoreName } from './stores.ts';

const [name = 'file', dir = '', journalPath = '', mode, ...rest] = process.argv.slice(2);
const journal = new Journal(journalPath);

async function changeAtRandom(seed: number): Promise<void> {
  const store = await stores[name as StoreName].open(dir, () => undefined);
  let generation = journal.lastGeneration();
  let isReady = false;
  let state = seed;
  const random = (most: number): number => {
    state = (state * 48271) % 2147483647;
    return state % most;
  };
  const present = journal.possible();
  // One KO each, so that changes overlap and yet each KO has one at a time.
  const worker = async (id: Id): Promise<never> => {
    let isThere = present.get(id)?.[0] != null;
    for (;;) {
      const op = isThere ? (['import', 'import', 'metadata', 'remove'] as const)[random(4)] : 'import';
      await makeChange(
        store,
        journal,
        op === 'remove' ? { op, id } : { op: op ?? 'import', id, generation: ++generation },
      );
      isThere = op !== 'remove';
      if (!isReady) process.stdout.write('ready\n');
      isReady = true;
    }
  };
  await Promise.all(['a/b/v1', 'a/b/v2', 'c/d/v1'].map(worker));
}

async function changeOnce(killAt: number, op: Change['op']): Promise<void> {
  const steps: string[] = [];
  let counting = false;
  const store = await stores[name as StoreName].open(dir, (step) => {
    if (counting && steps.push(step) - 1 === killAt) process.kill(process.pid, 'SIGKILL');
  });
  const change = nextChange(journal, op);
  counting = true;
  await makeChange(store, journal, change);
  process.stdout.write(JSON.stringify(steps));
  process.exit();
}

if (mode === 'random') await changeAtRandom(Number(rest[0]));
else await changeOnce(Number(rest[0]), rest[1] as Change['op']);
