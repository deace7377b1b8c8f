/** What the page of one knowledge object is made of: `GET /doc/about/{naan}/{name}/{version}`. */
import type { Activator } from '../activation/activator.ts';
import type { Endpoint } from '../activation/endpoint.ts';
import { aboutKo } from '../knowledge-object/about-ko.ts';
import type { AboutKo } from '../knowledge-object/about-ko.ts';
import { deployedServices } from '../knowledge-object/deployed-services.ts';
import { koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { readMetadata } from '../knowledge-object/metadata.ts';
import { withoutDot } from '../knowledge-object/package-path.ts';
import type { EndpointSet } from '../activation/endpoint-set.ts';
import type { ReadableShelf } from '../identity/visible.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import { madeDescriptor } from '../http/kos/read-ko.ts';
import { statesIn } from './states.ts';
import type { KoState } from './states.ts';

/** The page that the authors of a knowledge object show people, at the root of its package. */
const OWN_PAGE = 'index.html';
const MOST_VERSIONS = 200;

export interface AboutAnswer extends AboutKo {
  readonly id: string;
  /** Where it is another name than the place. */
  readonly atId?: string;
  readonly generation?: 1 | 2;
  /** Path of its own page in the package. */
  readonly page?: string;
  /** Path of its service descriptor in the package. */
  readonly descriptor?: string;
  /** What is named as documentation or test and is a file of the package, with its path. */
  readonly paths: Readonly<Record<string, string>>;
  readonly state: KoState;
  /** Of the package on the shelf; left out where there is none any more. */
  readonly shelf?: { readonly digest: string; readonly etag: string };
  /** Digests of the packages of which something is active, most often one. */
  readonly runs: readonly string[];
  readonly endpoints: readonly object[];
  /** The oldest first. */
  readonly versions: readonly { readonly id: string; readonly state: KoState }[];
}

/** What whoever asks may read. */
interface Seen {
  readonly shelf: ReadableShelf;
  readonly set: EndpointSet;
}

/** Undefined where it is neither on the shelf nor active. */
export async function aboutOf({ shelf, set }: Seen, activator: Activator, id: KoId): Promise<AboutAnswer | undefined> {
  const key = koKey(id);
  const ofName = set.ofName(id);
  const endpoints = ofName.filter(({ ko }) => ko.key === key);
  const pkg = await shelf.open(id);
  try {
    const entry = pkg?.entry ?? endpoints[0]?.ko.entry;
    if (entry === undefined) return undefined;
    const about = aboutKo(entry.metadata);
    const { metadata } = readMetadata(entry.metadata, id.naan);
    const versions = (await shelf.versions(id.naan, id.name)).slice(-MOST_VERSIONS);
    const stateOf = statesIn(set);
    const active = endpoints.filter(({ status }) => status === 'ACTIVATED');
    return {
      ...about,
      id: key,
      ...(entry.atId === undefined ? {} : { atId: entry.atId }),
      ...(metadata === undefined ? {} : { generation: metadata.generation }),
      ...(pkg === undefined ? { paths: {} } : inPackage(pkg, about, madeDescriptor(activator, pkg))),
      state: stateOf(id, pkg?.entry, endpoints),
      ...(pkg === undefined ? {} : { shelf: { digest: `sha256:${entry.digest}`, etag: entry.etag } }),
      runs: [...new Set(active.map(({ ko }) => `sha256:${ko.entry.digest}`))],
      endpoints: endpoints.map(toShown),
      versions: versions.map((each) => ({
        id: koKey(each.id),
        state: stateOf(
          each.id,
          each,
          ofName.filter(({ ko }) => ko.key === koKey(each.id)),
        ),
      })),
    };
  } finally {
    pkg?.release();
  }
}

/** @param made path of a descriptor that is not in the package. */
function inPackage(
  { entry, files }: KoPackage,
  about: AboutKo,
  made: string | undefined,
): Pick<AboutAnswer, 'page' | 'descriptor' | 'paths'> {
  const { readable } = readMetadata(entry.metadata, entry.id.naan);
  const own = readable === undefined ? undefined : deployedServices(readable, files).descriptor;
  const descriptor = made ?? (own !== undefined && files.has(own) ? own : undefined);
  const named = [
    ...about.documentation,
    ...about.evidence.flatMap(({ documentation, tests }) => [...documentation, ...tests]),
  ];
  const paths = named.map((each) => [each, withoutDot(each)] as const).filter(([, path]) => files.has(path));
  return {
    ...(files.has(OWN_PAGE) ? { page: OWN_PAGE } : {}),
    ...(descriptor === undefined ? {} : { descriptor }),
    paths: Object.fromEntries(paths),
  };
}

const toShown = (endpoint: Endpoint): object => ({
  id: endpoint.id,
  name: endpoint.name,
  method: endpoint.entry.method,
  engine: endpoint.engine?.name ?? endpoint.entry.engine,
  status: endpoint.status,
  /** Path of the service descriptor that declares it. */
  descriptor: endpoint.from.service.file,
  detail: endpoint.detail,
});
