/** Reads knowledge objects from the shelf, and tells which endpoints they declare. */
import type { Engines } from '../engines/engine-registry.ts';
import type { DescriptorReader } from '../knowledge-object/descriptors/background-reader.ts';
import { type KoId, koKey } from '../knowledge-object/id.ts';
import { METADATA_FILE } from '../knowledge-object/metadata.ts';
import { messageOf, type ServiceError } from '../lib/errors.ts';
import { mapBounded } from '../lib/fair-queue.ts';
import type { Verdict } from '../shelf/package/signatures/verdict.ts';
import type { KoPackage } from '../shelf/shelf.ts';
import type { SharedShelf } from '../shelf/store/stored-shelf.ts';
import { disagreementIn } from './agreement.ts';
import type { LoadFailure } from './endpoint-set.ts';
import type { KnownPackages } from './known-packages.ts';
import { isTransient, LoadedKo } from './loaded-ko.ts';
import { type Declared, declaredBy, type Loading, saysNothingOfTheKo } from './loading.ts';
import type { ActiveKos, ListedKo } from './selection.ts';

type PackagesOfActive = Pick<SharedShelf, 'find' | 'openPackage'>;

export interface KoLoaderOptions {
  readonly shelf: Pick<ActiveKos, 'open'>;
  readonly engines: Engines;
  readonly known?: KnownPackages;
  /** `ofMany`: for a change of many knowledge objects. */
  readonly descriptors?: DescriptorReader & { readonly ofMany?: DescriptorReader };
  /** Hears of each that cannot be loaded. */
  readonly onFailed: (failure: LoadFailure) => void;
  /** The functions of libraries are endpoints. */
  readonly servesLibraries?: boolean;
  /** The shelf is read for the first time. */
  readonly isStart: () => boolean;
  /** Says whose a package is; nobody asks where it gives undefined. @throws packageNotTrusted. */
  readonly requireTrusted?: ((pkg: KoPackage) => Promise<Verdict | undefined>) | undefined;
  /** Every package is judged before it runs. */
  readonly isTrustAsked?: (() => boolean) | undefined;
  /** What is loaded at the moment of a knowledge object. */
  readonly present: (key: string) => LoadedKo | undefined;
  /** A shelf that keeps the packages of what is active: at a start what is known of them need not be read. */
  readonly opensLater?: PackagesOfActive;
}

const CONCURRENT_LOADS = 16;
/** Knowledge objects whose descriptors are read sooner than a thread begins. */
const FEW = 100;

export class KoLoader {
  readonly #options: KoLoaderOptions;

  constructor(options: KoLoaderOptions) {
    this.#options = options;
  }

  /** Reads knowledge objects from the shelf, but those that `loaded` has; each declares endpoints or fails as a whole. */
  async load(entries: readonly ListedKo[], loaded: ReadonlyMap<string, LoadedKo>): Promise<Loading> {
    let refusal: ServiceError | undefined;
    const declared: Declared[] = [];
    const opened: LoadedKo[] = [];
    const failures: LoadFailure[] = [];
    const { descriptors } = this.#options;
    const reader = entries.length > FEW ? (descriptors?.ofMany ?? descriptors) : descriptors;
    await mapBounded(entries, CONCURRENT_LOADS, async (entry) => {
      const { id } = entry;
      try {
        let ko = loaded.get(koKey(id));
        if (ko === undefined) {
          ko = (await this.#known(entry)) ?? (await this.#open(id, reader));
          if (ko === undefined) return;
          opened.push(ko);
        }
        const deployed = declaredBy(ko, this.#options.engines);
        for (const each of deployed) declared.push(each);
        if (deployed.length > 0) return;
        const [first] = ko.services;
        if (first === undefined) failures.push({ id, cause: withoutEndpoint(ko), isFault: false });
        else throw new Error(`${first.deployment.file} deploys no endpoint`);
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
    const { descriptors: reader, servesLibraries = false } = this.#options;
    const ko = await LoadedKo.load(pkg, { reader, servesLibraries });
    ko.settle();
    return declaredBy(ko, this.#options.engines).map(({ entry }) => entry.engine);
  }

  /** At a start, one that an earlier start read; it is read when it is over. */
  async #known({ id, digest }: ListedKo): Promise<LoadedKo | undefined> {
    const { known, isStart, opensLater, isTrustAsked, servesLibraries = false } = this.#options;
    if (known === undefined || opensLater === undefined || !isStart() || isTrustAsked?.() === true) return undefined;
    const entry = await opensLater.find(id);
    if (entry === undefined || (digest !== undefined && digest !== entry.digest)) return undefined;
    const reading = known.reading(entry);
    if (reading?.isStored !== true || (servesLibraries && reading.declared.length === 0)) return undefined;
    return LoadedKo.known(entry, reading, () => opensLater.openPackage(id, entry.digest));
  }

  async #trustIn(pkg: KoPackage): Promise<Verdict | undefined> {
    try {
      return await this.#options.requireTrusted?.(pkg);
    } catch (thrown) {
      pkg.release();
      throw thrown;
    }
  }

  async #open(id: KoId, reader: DescriptorReader | undefined): Promise<LoadedKo | undefined> {
    const { shelf, isStart, present, known, servesLibraries = false } = this.#options;
    const pkg = await shelf.open(id);
    if (pkg === undefined) return undefined;
    const trust = await this.#trustIn(pkg);
    const before = present(koKey(id));
    const isSame = before?.agrees === true && before.entry.digest === pkg.entry.digest;
    const reading = isStart() ? known?.reading(pkg.entry) : isSame ? before.reading : undefined;
    const ko = await LoadedKo.load(pkg, { reader, servesLibraries, reading, readsAgain: !isStart() });
    ko.trust = trust;
    if (ko.library === undefined) ko.agrees ||= disagreementIn(ko) === undefined;
    if (ko.agrees) known?.rememberReading(pkg.entry, ko.reading, pkg.digestOf(METADATA_FILE) !== undefined);
    return ko;
  }
}

const withoutEndpoint = ({ details: { libraries = [] } }: LoadedKo): string =>
  libraries.length === 0
    ? 'deploys no endpoint'
    : 'deploys no endpoint; --serve-libraries on makes endpoints of the functions of its library';
