/**
 * What a refresh of one engine takes in from the shelf, or lets go with it. Only packages tell of which engines they are,
 * so the node that is asked finds it out for all.
 */
import type { Activator } from '../activation/activator.ts';
import { type KoId, koKey } from '../knowledge-object/id.ts';
import { mapBounded } from '../lib/fair-queue.ts';
import type { Shelf } from '../shelf/shelf.ts';
import type { SharedKos } from './shared-kos.ts';

const OPENED_AT_A_TIME = 16;

/** The KOs with that engine of which the shelf has a first package, or none any more. @throws DatabaseError. */
export async function comeOrGone(
  engine: string,
  {
    shelf,
    kos,
    activator,
  }: {
    readonly shelf: Pick<Shelf, 'list' | 'open'>;
    readonly kos: SharedKos;
    readonly activator: Pick<Activator, 'enginesOf' | 'set'>;
  },
): Promise<readonly KoId[]> {
  await kos.catchUp();
  const stored = await shelf.list();
  const found: KoId[] = [];
  const fresh = stored.filter(({ id }) => kos.find(id) === undefined);
  await mapBounded(fresh, OPENED_AT_A_TIME, async ({ id }) => {
    const pkg = await shelf.open(id);
    // What cannot be loaded has no endpoint of any engine.
    const engines = pkg === undefined ? [] : await activator.enginesOf(pkg).catch(() => []);
    if (engines.includes(engine)) found.push(id);
  });
  const keys = new Set(stored.map(({ id }) => koKey(id)));
  const gone = (await kos.list()).filter(({ id }) => !keys.has(koKey(id)));
  const isOfEngine = ({ id }: { readonly id: KoId }): boolean =>
    activator.set.ofName(id).some((each) => each.ko.key === koKey(id) && each.entry.engine === engine);
  return [...found, ...gone.filter(isOfEngine).map(({ id }) => id)];
}
