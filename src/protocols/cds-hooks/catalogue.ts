/** The CDS services of the knowledge objects that are active, by the ids under which clients find them. */
import type { Activator } from '../../activation/activator.ts';
import type { Endpoint } from '../../activation/endpoint.ts';
import type { EndpointSet } from '../../activation/endpoint-set.ts';
import type { LoadedKo } from '../../activation/loaded-ko.ts';
import type { Engines } from '../../engines/engine-registry.ts';
import type { EndpointPlan, Executor } from '../../engines/engine.ts';
import { HOOKS_FILE, parseHooks } from '../../knowledge-object/descriptors/hooks.ts';
import type { HookService } from '../../knowledge-object/descriptors/hooks.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';

/** A service that is offered. */
export interface ActiveHook {
  /** `<naan>-<name>`, and behind it the id of the service where the knowledge object has several. */
  readonly id: string;
  readonly service: HookService;
  readonly ko: LoadedKo;
  readonly endpoint: Endpoint;
  readonly set: EndpointSet;
  readonly functions: HookFunctions;
}

/** The code of a knowledge object around its endpoint. */
export interface HookFunctions {
  readonly input: Executor;
  readonly cards: Executor;
}

/** What was made of one knowledge object. */
interface Prepared {
  readonly ko: LoadedKo;
  readonly services: Promise<readonly PreparedService[]>;
}

interface PreparedService {
  readonly service: HookService;
  readonly functions: HookFunctions;
}

/** Bytes of the file. */
const MOST_BYTES = 256 * 1024;

export class HookCatalogue implements Disposable {
  readonly #activator: Activator;
  readonly #engines: Engines;
  readonly #log: Logger;
  #set: EndpointSet | undefined;
  #kos: readonly LoadedKo[] = [];
  #prepared = new Map<LoadedKo, Prepared>();

  constructor(activator: Activator, engines: Engines, log: Logger) {
    this.#activator = activator;
    this.#engines = engines;
    this.#log = log;
  }

  /** All services whose endpoint is active, in the order of the knowledge objects. */
  async all(): Promise<readonly ActiveHook[]> {
    const found = new Map<string, ActiveHook>();
    for (const ko of await this.#offering()) {
      // Of several versions the newest counts, which comes first.
      for (const hook of await this.#hooksOf(ko)) if (!found.has(hook.id)) found.set(hook.id, hook);
    }
    return [...found.values()];
  }

  async find(id: string): Promise<ActiveHook | undefined> {
    const [naan, name] = id.split('-', 2);
    for (const ko of await this.#offering()) {
      if (ko.id.naan !== naan || ko.id.name !== name) continue;
      const hook = (await this.#hooksOf(ko)).find((each) => each.id === id);
      if (hook !== undefined) return hook;
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    for (const each of this.#prepared.values()) letGo(each);
    this.#prepared.clear();
  }

  /** The knowledge objects with the file, of each name the newest version first. */
  async #offering(): Promise<readonly LoadedKo[]> {
    if (!this.#activator.loaded) await this.#activator.whenLoaded();
    const { set } = this.#activator;
    if (set === this.#set) return this.#kos;
    const kos = [...new Set(set.endpoints.map(({ ko }) => ko))].filter(({ reading }) => reading.hooks);
    this.#set = set;
    this.#kos = kos.toReversed();
    const staying = new Set(kos);
    for (const [ko, prepared] of this.#prepared) {
      if (staying.has(ko)) continue;
      this.#prepared.delete(ko);
      letGo(prepared);
    }
    return this.#kos;
  }

  async #hooksOf(ko: LoadedKo): Promise<ActiveHook[]> {
    const { set } = this.#activator;
    const services = await this.#servicesOf(ko).services;
    return services.flatMap(({ service, functions }) => {
      const endpoint = set
        .ofName(ko.id)
        .find((each) => each.ko === ko && each.entry.path === service.endpoint && each.entry.method === 'post');
      if (endpoint?.status !== 'ACTIVATED') return [];
      const { naan, name } = ko.id;
      const id = [naan, name, ...(service.id === '' ? [] : [service.id])].join('-');
      return [{ id, service, ko, endpoint, set, functions }];
    });
  }

  #servicesOf(ko: LoadedKo): Prepared {
    let prepared = this.#prepared.get(ko);
    if (prepared === undefined) {
      ko.retain();
      const services = this.#prepare(ko).catch((thrown: unknown) => {
        this.#log.warn(
          { event: 'cds-service-fails', ko: ko.key, cause: messageOf(thrown) },
          `${ko.key} offers no CDS service`,
        );
        return [];
      });
      prepared = { ko, services };
      this.#prepared.set(ko, prepared);
    }
    return prepared;
  }

  /** @throws Error with the cause. */
  async #prepare(ko: LoadedKo): Promise<readonly PreparedService[]> {
    const size = (await ko.sizeOf(HOOKS_FILE)) ?? 0;
    if (size > MOST_BYTES) throw new Error(`${HOOKS_FILE} is larger than ${MOST_BYTES / 1024} KB`);
    const services = parseHooks((await ko.artifact(HOOKS_FILE)).toString('utf8'));
    const made: PreparedService[] = [];
    for (const service of services) made.push({ service, functions: await this.#functionsOf(ko, service) });
    return made;
  }

  async #functionsOf(ko: LoadedKo, service: HookService): Promise<HookFunctions> {
    const engine = this.#engines.get('javascript');
    if (engine === undefined) throw new Error('the javascript engine is not here');
    if ((await ko.sizeOf(service.code)) === undefined)
      throw new Error(`${HOOKS_FILE} line ${service.line}: ${service.code} is not in the package`);
    const context = { progress: () => undefined, signal: new AbortController().signal };
    const input = await engine.activate(planOf(ko, service, service.input), context);
    try {
      return { input, cards: await engine.activate(planOf(ko, service, service.cards), context) };
    } catch (thrown) {
      input.dispose();
      throw thrown;
    }
  }
}

function planOf(ko: LoadedKo, { id, code }: HookService, name: string): EndpointPlan {
  const scripts = [...ko.package.files.keys()].filter((path) => /\.(m?js|ts|json)$/.test(path));
  return {
    id: `${ko.key}/${[HOOKS_FILE, id, name].filter((part) => part !== '').join('/')}`,
    ko: ko.id,
    engine: 'javascript',
    endpoint: HOOKS_FILE,
    apiVersion: ko.id.version,
    artifacts: [code, ...scripts.filter((path) => path !== code)],
    entry: code,
    function: name,
    options: { isolation: 'ko', timeout: undefined },
    descriptor: {},
    checksum: ko.entry.digest,
    files: ko.package.files,
    read: (path) => ko.artifact(path),
  };
}

function letGo({ ko, services }: Prepared): void {
  void services.then((all) => {
    for (const { functions } of all) {
      functions.input.dispose();
      functions.cards.dispose();
    }
    ko.release();
  });
}
