/** Which KOs have an `@id` that is not their place, by what is loaded: never changed, but replaced as the set is. */
import { nameKey } from '../knowledge-object/id.ts';
import type { KoName } from '../knowledge-object/id.ts';
import { LayeredMap } from '../lib/layered-map.ts';
import type { Endpoint } from './endpoint.ts';

/** By `@id`. */
export type AtIdNames = LayeredMap<readonly KoName[]>;

export const atIdNames = (endpoints: readonly Endpoint[]): AtIdNames => LayeredMap.of(namesByAtId(endpoints));

/** Of the next set, in which some KOs have other endpoints, at the cost of these. `before` and `now`: of these KOs. */
export function nextAtIdNames(names: AtIdNames, before: readonly Endpoint[], now: readonly Endpoint[]): AtIdNames {
  const gone = new Set(before.map(({ ko }) => nameKey(ko.id)));
  const next = namesByAtId(now);
  const changed = new Set([...namesByAtId(before).keys(), ...next.keys()]);
  return names.with(
    [...changed].map((atId) => {
      const staying = (names.get(atId) ?? []).filter((each) => !gone.has(nameKey(each)));
      const all = [...staying, ...(next.get(atId) ?? [])];
      return [atId, all.length === 0 ? undefined : all] as const;
    }),
  );
}

function namesByAtId(endpoints: readonly Endpoint[]): Map<string, readonly KoName[]> {
  const found = new Map<string, Map<string, KoName>>();
  for (const { ko } of endpoints) {
    if (ko.atId === ko.key) continue;
    const names = found.get(ko.atId) ?? new Map<string, KoName>();
    found.set(ko.atId, names.set(nameKey(ko.id), ko.id));
  }
  return new Map([...found].map(([atId, names]) => [atId, [...names.values()]]));
}
