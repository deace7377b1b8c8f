/** Which endpoints are tools now, and under which names. */
import type { Activator } from '../../activation/activator.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import { compareIds, nameKey } from '../../knowledge-object/id.ts';
import type { ToolNames } from './tool-names.ts';

export interface ToolsOptions {
  readonly activator: Activator;
  /** Activations so far: with each the status of an endpoint changed. */
  readonly activations: () => number;
  readonly names: ToolNames;
  /** Hears that there are others than before. */
  readonly onChange: () => void;
}

interface Known {
  readonly set: EndpointSet;
  readonly activations: number;
  readonly tools: ReadonlyMap<string, Endpoint>;
}

export class Tools {
  readonly #options: ToolsOptions;
  #known: Known | undefined;
  #reading: Promise<Known> | undefined;

  constructor(options: ToolsOptions) {
    this.#options = options;
  }

  /** By name, where nothing changed since they were looked at last. */
  get known(): ReadonlyMap<string, Endpoint> | undefined {
    const { activator, activations } = this.#options;
    const known = this.#known;
    return known?.set === activator.set && known.activations === activations() ? known.tools : undefined;
  }

  /** By name, in their order. */
  async current(): Promise<ReadonlyMap<string, Endpoint>> {
    const { activator } = this.#options;
    if (!activator.loaded) await activator.whenLoaded();
    for (;;) {
      const { known } = this;
      if (known !== undefined) return known;
      this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
      await this.#reading;
    }
  }

  async #read(): Promise<Known> {
    const { activator, activations, names, onChange } = this.#options;
    const [set, counted] = [activator.set, activations()];
    const endpoints = codeOf(set);
    const byEndpoint = new Map((await names.of(endpoints)).map(({ name, endpoint }) => [endpoint, name]));
    const tools = new Map(
      endpoints.flatMap((each) => {
        const name = byEndpoint.get(each);
        return name === undefined ? [] : [[name, each] as const];
      }),
    );
    const before = this.#known;
    this.#known = { set, activations: counted, tools };
    if (before !== undefined && !isSame(before.tools, tools)) onChange();
    return this.#known;
  }
}

function isSame(a: Known['tools'], b: Known['tools']): boolean {
  return a.size === b.size && [...a].every(([name, endpoint]) => b.get(name) === endpoint);
}

const isActive = ({ status, entry }: Endpoint): boolean => status === 'ACTIVATED' && entry.listsExports !== true;

/** "An active code endpoint of the newest version of a KO." */
const codeOf = (set: EndpointSet): Endpoint[] =>
  ofNewest(set.endpoints.filter((each) => isActive(each) && each.entry.method === 'post'));

/** Those that give files, of the newest version of each knowledge object. */
export const filesOf = (set: EndpointSet): Endpoint[] =>
  ofNewest(set.endpoints.filter((each) => isActive(each) && each.entry.method === 'get'));

/** One for each address. */
function ofNewest(endpoints: readonly Endpoint[]): Endpoint[] {
  const newest = new Map<string, Endpoint>();
  for (const each of endpoints) {
    const name = nameKey(each.ko.id);
    const known = newest.get(name);
    if (known === undefined || compareIds(known.ko.id, each.ko.id) < 0) newest.set(name, each);
  }
  // Of services of one version the newest API version comes last.
  const found = new Map<string, Endpoint>();
  for (const each of endpoints)
    if (newest.get(nameKey(each.ko.id))?.ko.key === each.ko.key) found.set(each.address, each);
  return [...found.values()];
}
