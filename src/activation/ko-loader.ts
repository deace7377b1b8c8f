/** Reads knowledge objects from the shelf, and tells which endpoints they declare. */
import type { Engines } from '../engines/engine-registry.ts';
import type { DescriptorReader } from '../knowledge-object/descriptors/descriptor-reader.ts';
import { koKey } from '../knowledge-object/id.ts';
import type { KoId } from '../knowledge-object/id.ts';
import { messageOf } from '../lib/errors.ts';
import type { ServiceError } from '../lib/errors.ts';
import { mapBounded } from '../lib/map-bounded.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import type { ActiveKos } from './active-kos.ts';
import type { LoadFailure } from './endpoint-set.ts';
import type { KnownPackages } from './known-packages.ts';
import { isTransient, LoadedKo } from './loaded-ko.ts';
import type { LoadOptions } from './loaded-ko.ts';
import { declaredBy, saysNothingOfTheKo } from './loading.ts';
import type { Declared, Loading } from './loading.ts';

export interface KoLoaderOptions {
  readonly shelf: Pick<ActiveKos, 'open'>;
  readonly engines: Engines;
  readonly known?: KnownPackages;
  readonly descriptors?: DescriptorReader;
  /** Hears of each that cannot be loaded. */
  readonly onFailed: (failure: LoadFailure) => void;
  /** The functions of libraries are endpoints. */
  readonly servesLibraries?: boolean;
  /** The shelf is read for the first time. */
  readonly isStart: () => boolean;
}

const CONCURRENT_LOADS = 16;

export class KoLoader {
  readonly #options: KoLoaderOptions;

  constructor(options: KoLoaderOptions) {
    this.#options = options;
  }

  /** Reads knowledge objects from the shelf, but those that `loaded` has; each declares endpoints or fails as a whole. */
  async load(entries: readonly { readonly id: KoId }[], loaded: ReadonlyMap<string, LoadedKo>): Promise<Loading> {
    let refusal: ServiceError | undefined;
    const declared: Declared[] = [];
    const opened: LoadedKo[] = [];
    const failures: LoadFailure[] = [];
    await mapBounded(entries, CONCURRENT_LOADS, async ({ id }) => {
      try {
        let ko = loaded.get(koKey(id));
        if (ko === undefined) {
          ko = await this.#open(id);
          if (ko === undefined) return;
          opened.push(ko);
        }
        const deployed = declaredBy(ko, this.#options.engines);
        for (const each of deployed) declared.push(each);
        const [first] = ko.services;
        if (first === undefined) failures.push({ id, cause: withoutEndpoint(ko), isFault: false });
        else if (deployed.length === 0) throw new Error(`${first.deployment.file} deploys no endpoint`);
      } catch (thrown) {
        if (saysNothingOfTheKo(thrown)) refusal ??= thrown;
        const failure = { id, cause: messageOf(thrown), transient: isTransient(thrown) };
        failures.push(failure);
        this.#options.onFailed(failure);
      }
    });
    return { declared, opened, failures, refusal };
  }

  /** The engines of what a package declares, as it would run here. @throws as its activation. */
  async enginesOf(pkg: KoPackage): Promise<readonly string[]> {
    const ko = await LoadedKo.load(pkg, this.#howToLoad(false));
    ko.settle();
    return declaredBy(ko, this.#options.engines).map(({ entry }) => entry.engine);
  }

  async #open(id: KoId): Promise<LoadedKo | undefined> {
    const { shelf, isStart } = this.#options;
    const pkg = await shelf.open(id);
    return pkg && LoadedKo.load(pkg, this.#howToLoad(isStart()));
  }

  #howToLoad(takesKnown: boolean): LoadOptions {
    const { known, descriptors: reader, servesLibraries = false } = this.#options;
    return { known, reader, takesKnown, servesLibraries };
  }
}

const withoutEndpoint = ({ details: { libraries = [] } }: LoadedKo): string =>
  libraries.length === 0
    ? 'deploys no endpoint'
    : 'deploys no endpoint; --serve-libraries on makes endpoints of the functions of its library';
