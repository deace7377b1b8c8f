/** Makes the endpoints that knowledge objects declare. */
import type { Engines } from '../engines/engine-registry.ts';
import type { ActiveKos } from './active-kos.ts';
import { endpointDisagreement, engineProblem, koDisagreement, timeoutProblem } from './agreement.ts';
import { Endpoint } from './endpoint.ts';
import type { LoadedService } from './loaded-ko.ts';
import { idOf, newestVersions } from './loading.ts';
import type { Declared } from './loading.ts';

export interface EndpointMakerOptions {
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
