/**
 * The process that is killed. Arguments: store, shelf folder, journal, and either
 * `random SEED` (changes without end, `ready` after the first), or `at STEP OP` (one change of KO `a/b/v1`, ending itself at that step; with
 * STEP -1 it names the steps on stdout and lives).
 */
import { filesOf, metadataOf, type Id } from './generations.ts';
import { Journal, type Change } from './journal.ts';
import { stores, type CrashStore, type StoreName } from './stores.ts';

const [name = 'file', dir = '', journalPath = '', mode, ...rest] = process.argv.slice(2);
const journal = new Journal(journalPath);

async function make(store: CrashStore, change: Change): Promise<void> {
  journal.begun(change);
  const { op, id } = change;
  if (op === 'import') await store.import(id, filesOf(id, change.generation), metadataOf(id, change.generation));
  else if (op === 'metadata') await store.replaceMetadata(id, metadataOf(id, change.generation));
  else if (op === 'restore') await store.restore(id);
  else await store.remove(id);
  journal.acknowledged(change);
}

async function changeAtRandom(seed: number): Promise<void> {
  const store = await stores[name as StoreName](dir, () => undefined);
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
      await make(store, op === 'remove' ? { op, id } : { op: op ?? 'import', id, generation: ++generation });
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
  const store = await stores[name as StoreName](dir, (step) => {
    if (counting && steps.push(step) - 1 === killAt) process.kill(process.pid, 'SIGKILL');
  });
  const generation = op === 'restore' ? 0 : journal.lastGeneration() + 1;
  counting = true;
  await make(store, op === 'remove' ? { op, id: 'a/b/v1' } : { op, id: 'a/b/v1', generation });
  process.stdout.write(JSON.stringify(steps));
  process.exit();
}

if (mode === 'random') await changeAtRandom(Number(rest[0]));
else await changeOnce(Number(rest[0]), rest[1] as Change['op']);
