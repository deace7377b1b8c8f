import { filesOf, metadataOf } from './generations.ts';
import type { Change, Journal } from './journal.ts';
import type { CrashStore } from './stores.ts';

/** What comes next for KO `a/b/v1`. */
export function nextChange(journal: Journal, op: Change['op']): Change {
  const id = 'a/b/v1';
  if (op === 'remove') return { op, id };
  return { op, id, generation: op === 'restore' ? 0 : journal.lastGeneration() + 1 };
}

/** Makes a change, and notes that it was begun and that it was acknowledged. */
export async function makeChange(store: CrashStore, journal: Journal, change: Change): Promise<void> {
  journal.begun(change);
  const { op, id } = change;
  if (op === 'import') await store.import(id, filesOf(id, change.generation), metadataOf(id, change.generation));
  else if (op === 'metadata') await store.replaceMetadata(id, metadataOf(id, change.generation));
  else if (op === 'restore') await store.restore(id);
  else await store.remove(id);
  journal.acknowledged(change);
}
