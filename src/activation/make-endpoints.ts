/** Makes the endpoints of a change, and those that its libraries turn out to have. */
import type { Engines } from '../engines/engine-registry.ts';
import { uptime } from '../lib/uptime.ts';
import type { ActivationQueue } from './activation-queue.ts';
import type { Endpoint } from './endpoint.ts';
import type { EndpointMaker } from './endpoint-maker.ts';
import type { LoadedKo } from './loaded-ko.ts';
import { declaredBy } from './loading.ts';
import type { Declared } from './loading.ts';
import { decidedSoon } from './selection.ts';

export interface MakingParts {
  readonly maker: EndpointMaker;
  readonly queue: ActivationQueue;
  readonly engines: Engines;
  /** Takes the knowledge objects whose endpoints are being activated, by key. */
  readonly coming: Map<string, LoadedKo>;
}

export interface MadeEndpoints {
  readonly endpoints: readonly Endpoint[];
  /** Those of them that were not there before. */
  readonly made: readonly Endpoint[];
  /** They stood for files of libraries until these were listed. */
  readonly spent: readonly Endpoint[];
}

/** @param waitMs as `decidedSoon` takes it. */
export async function makeEndpoints(
  declared: readonly Declared[],
  waitMs: number,
  { maker, queue, engines, coming }: MakingParts,
): Promise<MadeEndpoints> {
  const until = uptime() + waitMs;
  const round = async (wanted: readonly Declared[]): Promise<ReturnType<EndpointMaker['endpoints']>> => {
    const found = maker.endpoints(wanted);
    for (const each of found.made) {
      coming.set(each.ko.key, each.ko);
      queue.add(each);
    }
    await decidedSoon(found.made, Math.max(0, until - uptime()));
    return found;
  };
  const first = await round(declared);
  const listed = new Set(first.made.filter(({ hasListed }) => hasListed).map(({ ko }) => ko));
  if (listed.size === 0) return { ...first, spent: [] };
  const others = first.endpoints.filter(({ ko }) => !listed.has(ko)).map(asDeclared);
  const ofLibraries = [...listed].flatMap((ko) =>
    declaredBy(ko, engines).map((each) => {
      const present = first.endpoints.find((it) => it.ko === ko && isSame(it, each));
      return present === undefined ? each : asDeclared(present);
    }),
  );
  const second = await round([...others, ...ofLibraries]);
  const staying = new Set(second.endpoints);
  return {
    endpoints: second.endpoints,
    made: [...first.made.filter((each) => staying.has(each)), ...second.made],
    spent: first.made.filter((each) => !staying.has(each)),
  };
}

/** An endpoint that is there already. */
export const asDeclared = (endpoint: Endpoint): Declared => {
  const { ko, from, entry } = endpoint;
  return { ko, from, entry, present: endpoint };
};

/** What stands for a file that is not listed, or could not be. */
const isSame = (endpoint: Endpoint, { entry }: Declared): boolean =>
  !endpoint.hasListed &&
  entry.listsExports === true &&
  endpoint.entry.listsExports === true &&
  endpoint.entry.path === entry.path;
