/** Makes the endpoints of a change, and those that its libraries turn out to have. */
import type { Engines } from '../engines/engine-registry.ts';
import { uptime } from '../lib/time.ts';
import { endpointDisagreement, engineProblem, koDisagreement, timeoutProblem } from './agreement.ts';
import { Endpoint } from './endpoint.ts';
import type { LoadedKo, LoadedService } from './loaded-ko.ts';
import { type Declared, declaredBy, idOf, newestVersions } from './loading.ts';
import { type ActiveKos, decidedSoon } from './selection.ts';

// Activates endpoints, some at a time, those first that a caller waits for.

const MAX_CONCURRENT = 16;
/** Enough to keep a sandbox busy; more would stand in line there, where nothing can be put before them. */
const MAX_FRESH = 2;
/** Milliseconds after which an activation is slow, and others go on beside it. */
const FRESH_MS = 700;

export class ActivationQueue {
  readonly #waiting = new Set<Endpoint>();
  /** All that run, and those of them that began just now. */
  #running = 0;
  #fresh = 0;

  add(endpoint: Endpoint): void {
    // Nobody waits for what may take minutes, and it takes nobody's place.
    if (endpoint.engine?.builtIn === false) {
      void endpoint.activate();
      return;
    }
    this.#waiting.add(endpoint);
    this.#next();
  }

  /** An endpoint that was replaced waits no more. */
  remove(endpoint: Endpoint): void {
    this.#waiting.delete(endpoint);
  }

  /** Puts an endpoint that waits before all others. */
  prioritize(endpoint: Endpoint): void {
    if (!this.#waiting.delete(endpoint)) return;
    this.#start(endpoint);
  }

  #next(): void {
    for (const endpoint of this.#waiting) {
      if (this.#running >= MAX_CONCURRENT || this.#fresh >= MAX_FRESH) return;
      this.#waiting.delete(endpoint);
      this.#start(endpoint);
    }
  }

  #start(endpoint: Endpoint): void {
    this.#running++;
    this.#fresh++;
    let fresh = true;
    const age = (): void => {
      if (fresh) this.#fresh--;
      fresh = false;
      this.#next();
    };
    const timer = setTimeout(age, FRESH_MS);
    void endpoint.activate().then(() => {
      clearTimeout(timer);
      this.#running--;
      age();
    });
  }
}

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

/** Makes the endpoints that knowledge objects declare. */
interface EndpointMakerOptions {
  readonly shelf: Pick<ActiveKos, 'activated'>;
  readonly engines: Engines;
  /** Milliseconds that an endpoint may ask for, as the time limit of its calls. */
  readonly maxTimeout?: number | undefined;
  /** Somebody waits for it. */
  readonly prioritize: (endpoint: Endpoint) => void;
  /** It is active, or cannot be; `milliseconds`: what that took, where it was tried. */
  readonly onDecided: (endpoint: Endpoint, milliseconds: number | undefined) => void;
}

export class EndpointMaker {
  readonly #options: EndpointMakerOptions;

  constructor(options: EndpointMakerOptions) {
    this.#options = options;
  }

  /** Gives each declared endpoint its id, and makes it where it is not present under that id already. */
  endpoints(declared: readonly Declared[]): { endpoints: Endpoint[]; made: Endpoint[] } {
    const newest = newestVersions(declared);
    const made: Endpoint[] = [];
    const problems = new Map<LoadedService, string | undefined>();
    const endpoints = declared.map((each) => {
      const id = idOf(each, each.from.apiVersion);
      // "The newest KO version has the id […]; the others are active under their KO version in that place."
      const own = newest.get(id) === each.ko.id.version ? id : idOf(each, each.ko.id.version);
      if (each.present?.id === own) return each.present;
      if (!each.ko.agrees && !problems.has(each.from)) problems.set(each.from, koDisagreement(each.ko, each.from));
      const endpoint = this.#make(own, each, problems.get(each.from));
      made.push(endpoint);
      return endpoint;
    });
    return { endpoints, made };
  }

  /** `koProblem`: why no endpoint of the service may run. */
  #make(id: string, declared: Declared, koProblem: string | undefined): Endpoint {
    const { ko, from, entry, conflict } = declared;
    const { engines, maxTimeout = Infinity, prioritize, onDecided, shelf } = this.#options;
    const problem =
      koProblem ??
      conflict ??
      (ko.agrees ? engineProblem(from, entry, engines)?.message : endpointDisagreement(from, entry, engines)) ??
      timeoutProblem(from, entry, maxTimeout);
    const engine = engines.get(entry.engine);
    const activated = (): number | undefined => shelf.activated?.(ko.id, entry.engine);
    const endpoint = new Endpoint(id, declared, engine, problem, prioritize, activated);
    void endpoint.decided.then(() => onDecided(endpoint, endpoint.activatingMs));
    return endpoint;
  }
}
