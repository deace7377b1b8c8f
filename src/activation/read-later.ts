/** Reads once the start is over what it took as known: then damage is found as it was before, and the start is quicker. */
import { setTimeout as wait } from 'node:timers/promises';
import type { KoId } from '../knowledge-object/id.ts';
import type { LoadedKo } from './loaded-ko.ts';

const READS_AT_ONCE = 8;
/** Calls go first. */
const PAUSE_MS = 20;

/** What it asks of the activator. */
interface Loaded {
  readonly set: { readonly endpoints: readonly { readonly ko: LoadedKo }[] };
  reloadHere(ids: readonly KoId[]): Promise<unknown>;
}

/** Resolves when it `isOver`, or all that is loaded was read and what is not as it was stored was loaded anew. Never rejects. */
export async function readLater(activator: Loaded, isOver: () => boolean): Promise<void> {
  const kos = new Set(activator.set.endpoints.map(({ ko }) => ko));
  const taken = [...kos].filter((ko) => !ko.wasRead);
  for (let at = 0; at < taken.length; at += READS_AT_ONCE) {
    await wait(PAUSE_MS, undefined, { ref: false });
    if (isOver()) return;
    const some = taken.slice(at, at + READS_AT_ONCE);
    const sound = await Promise.all(some.map((ko) => ko.isSound()));
    const damaged = some.filter((_, i) => sound[i] === false).map(({ id }) => id);
    // A reload that fails leaves what is there, and the shelf knows of the damage.
    if (damaged.length > 0) await activator.reloadHere(damaged).catch(() => undefined);
  }
}
