/**
 * The shelf and the endpoints as somebody sees them: what one may not read is not there, and is missing in the very words
 * of what does not exist.
 */
import { EndpointSet } from '../activation/endpoint-set.ts';
import type { KoId } from '../knowledge-object/id.ts';
import type { ListRange, Shelf, ShelfEntry } from '../shelf/shelf.ts';
import type { Grants } from './grants.ts';
import type { Permission } from './permissions.ts';

/** What reads of the shelf need of it. */
export type ReadableShelf = Pick<
  Shelf,
  'find' | 'versions' | 'list' | 'withAtId' | 'open' | 'revision' | 'defaultNaan' | 'damage'
>;

/** Sets that are kept for each set, by grants. */
const MOST_SETS = 64;
const PART = 500;
const known = new WeakMap<EndpointSet, Map<string, EndpointSet>>();

/** The endpoints of the knowledge objects that they may read, or call. The set itself where that is all of them. */
export function visibleSet(set: EndpointSet, grants: Grants, permission: Permission = 'read'): EndpointSet {
  if (grants.everywhere(permission)) return set;
  let sets = known.get(set);
  if (sets === undefined) known.set(set, (sets = new Map<string, EndpointSet>()));
  const key = `${permission} ${grants.key}`;
  const before = sets.get(key);
  if (before !== undefined) return before;
  const visible = new EndpointSet(
    set.endpoints.filter(({ ko }) => grants.allow(permission, ko.id)),
    set.unloaded.filter(({ id }) => grants.allow(permission, id)),
  );
  if (sets.size >= MOST_SETS) sets.clear();
  sets.set(key, visible);
  return visible;
}

/** The shelf itself where they may read all of it. */
export function visibleShelf(shelf: ReadableShelf, grants: Grants): ReadableShelf {
  if (grants.everywhere('read')) return shelf;
  const sees = (id: KoId): boolean => grants.allow('read', id);
  const those = (entries: readonly ShelfEntry[]): ShelfEntry[] => entries.filter(({ id }) => sees(id));
  return {
    defaultNaan: shelf.defaultNaan,
    find: async (id) => (sees(id) ? shelf.find(id) : undefined),
    open: async (id) => (sees(id) ? shelf.open(id) : undefined),
    versions: async (naan, name) => those(await shelf.versions(naan, name)),
    withAtId: async (atId) => those(await shelf.withAtId(atId)),
    revision: () => shelf.revision(),
    damage: () => [],
    list: async ({ after, limit = Infinity }: ListRange = {}) => {
      const found: ShelfEntry[] = [];
      for (let place = after; found.length < limit;) {
        const part = await shelf.list({ after: place, limit: PART });
        found.push(...those(part));
        place = part.at(-1)?.id;
        if (part.length < PART) break;
      }
      return found.length > limit ? found.slice(0, limit) : found;
    },
  };
}
