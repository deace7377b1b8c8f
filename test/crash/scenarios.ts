import { mapBounded } from '../../src/lib/fair-queue.ts';
import type { Change } from './journal.ts';
import { CrashSite, type Origin } from './rounds.ts';
import type { StoreName } from './stores.ts';

export interface Scenario {
  readonly name: string;
  readonly origin: Origin;
  readonly op: Change['op'];
}

export const scenarios: readonly Scenario[] = [
  { name: 'an import', origin: 'nothing', op: 'import' },
  { name: 'a replacement', origin: 'imported', op: 'import' },
  { name: 'new metadata', origin: 'imported', op: 'metadata' },
  { name: 'a removal', origin: 'imported', op: 'remove' },
  { name: 'an import over a folder', origin: 'folder', op: 'import' },
  { name: 'new metadata in a folder', origin: 'folder', op: 'metadata' },
  { name: 'a removal of a folder', origin: 'folder', op: 'remove' },
  { name: 'a restore', origin: 'replaced', op: 'restore' },
  { name: 'a restore of what was removed', origin: 'removed', op: 'restore' },
  { name: 'a restore of a folder', origin: 'removed folder', op: 'restore' },
];

/** Of those, what can be in a database, where people put no folders. */
export const scenariosOfPackages: readonly Scenario[] = scenarios.filter(({ origin }) => !origin.includes('folder'));

export interface Outcome {
  readonly step: string;
  readonly problems: readonly string[];
}

/** Makes a change once, and checks what a kill before those of its steps would have left that are wanted. */
export async function copyAtSteps(
  store: StoreName,
  { origin, op }: Scenario,
  wanted: (step: string, index: number) => boolean,
): Promise<Outcome[]> {
  await using whole = await CrashSite.create(store);
  await whole.prepare(origin);
  const copies = await whole.copiedAtSteps(op, wanted);
  return await mapBounded(copies, 2, async ({ step, site }) => ({ step, problems: await site.problems() }));
}

/**
 * Makes a change as often as it has steps, each time killed at another one.
 * @param wanted picks steps by name; all when it is missing.
 * @param database for the store that needs one.
 */
export async function killAtEveryStep(
  store: StoreName,
  { origin, op }: Scenario,
  wanted: (step: string, index: number) => boolean = () => true,
  database?: string,
): Promise<Outcome[]> {
  await using whole = await CrashSite.create(store, undefined, database);
  await whole.prepare(origin);
  const steps = [...(await whole.changeAt(-1, op)).entries()].filter(([index, step]) => wanted(step, index));
  // Awaited here: what the first one compiled must outlive the others.
  return await mapBounded(steps, 2, async ([index, step]) => {
    await using site = await CrashSite.create(store, whole.cache, database);
    await site.prepare(origin);
    await site.changeAt(index, op);
    return { step, problems: await site.problems() };
  });
}
