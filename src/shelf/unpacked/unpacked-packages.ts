import { basename, dirname, join } from 'node:path';
import { nameKey, type KoId, type KoName } from '../../knowledge-object/id.ts';
import { METADATA_FILE } from '../../knowledge-object/metadata.ts';
import { tooManyOpen } from '../../lib/errors.ts';
import { isOutOfHandles } from '../../lib/out-of-handles.ts';
import { mapBounded } from '../../lib/map-bounded.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import type { ChangeLog } from '../change-log.ts';
import type { KoPackage, ShelfDamage } from '../shelf.ts';
import { isTransient, reasonOf } from '../disk-errors.ts';
import type { DurableFiles } from '../store/durable-files.ts';
import { folderStamp, readUnpacked, stampFolder, type HashCache } from './unpacked-folder.ts';
import { findUnpacked, unreadable } from './find-unpacked.ts';
import { OpenPackage, type PackagePlace } from '../package/open-package.ts';
import { keyOf, type PackageContent } from '../package/package-content.ts';
import type { RemovedFolder } from './removed-folder.ts';
import { stagingName, type ShelfLayout } from '../store/shelf-layout.ts';

const CONCURRENT_READS = 8;

/** A KO that a person put on the shelf as a folder. */
export interface UnpackedKo {
  /** Relative to the shelf. */
  readonly where: string;
  readonly content: PackageContent;
  readonly place: PackagePlace;
  /** The folder has not changed while this is the same; undefined when that is not sure. */
  readonly stamp: string | undefined;
}

export interface UnpackedPackagesOptions {
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  readonly changes: ChangeLog;
  readonly removed: RemovedFolder;
  /** The naan of the places of KOs whose `@id` is a word or a URL. */
  readonly defaultNaan: string;
}

/** The KOs that lie exploded on the shelf, as they were when they were last looked at. */
export class UnpackedPackages {
  /** In the order of their folders; the same id may be there twice. */
  #folders: readonly UnpackedKo[] = [];
  /** The first of each id, by `koKey`. */
  #served: ReadonlyMap<string, UnpackedKo> = new Map();
  /** All folders of each id, by `koKey`. */
  #byKey: ReadonlyMap<string, readonly UnpackedKo[]> = new Map();
  #damage: readonly ShelfDamage[] = [];
  #coming: Promise<void> | undefined;
  readonly #hashes: HashCache = new Map();
  readonly #layout: ShelfLayout;
  readonly #disk: DurableFiles;
  /** Looking and moving exclude each other: a look must not see a folder that is on its way out. */
  readonly #queue = new SerialQueue();

  readonly #removed: RemovedFolder;
  readonly #changes: ChangeLog;

  readonly #defaultNaan: string;

  constructor({ layout, disk, changes, removed, defaultNaan }: UnpackedPackagesOptions) {
    this.#defaultNaan = defaultNaan;
    this.#changes = changes;
    this.#layout = layout;
    this.#disk = disk;
    this.#removed = removed;
  }

  get folders(): readonly UnpackedKo[] {
    return this.#folders;
  }

  get served(): ReadonlyMap<string, UnpackedKo> {
    return this.#served;
  }

  /** All folders with that id; the first is served unless it was imported. */
  foldersOf(key: string): readonly UnpackedKo[] {
    return this.#byKey.get(key) ?? [];
  }

  /** Folders and files that cannot be served, whatever else is on the shelf. */
  get damage(): readonly ShelfDamage[] {
    return this.#damage;
  }

  /**
   * Looks at everything again; all who ask before it begins get the same look. For some KOs it looks at their folders and
   * at those that are new, and at everything where it finds nothing of one of them.
   */
  scan(names?: readonly KoName[]): Promise<void> {
    if (names !== undefined) return this.#alone(() => this.#scanFor(names));
    this.#coming ??= this.#alone(() => {
      this.#coming = undefined;
      return this.#scan();
    });
    return this.#coming;
  }

  /** Looks again where something could not be read for a reason that passes. @returns what was found there. */
  async readAgain(): Promise<readonly KoId[]> {
    const places = this.#damage.filter(({ transient }) => transient === true);
    if (places.length === 0) return [];
    await this.scan();
    const isStill = (where: string): boolean => this.#damage.some((each) => isWithin(where, each.where));
    return this.#folders
      .filter((ko) => places.some(({ where }) => isWithin(ko.where, where)) && !isStill(ko.where))
      .map((ko) => ko.content.entry.id);
  }

  /** True when the files of the folder may differ from what was last seen. */
  async hasChanged(ko: UnpackedKo): Promise<boolean> {
    const stamps = await stampFolder(ko.place.path).catch(() => []);
    return ko.stamp === undefined || folderStamp(stamps) !== ko.stamp;
  }

  open(ko: UnpackedKo): KoPackage {
    return new OpenPackage({ content: ko.content, place: ko.place, verify: false, release: () => undefined });
  }

  async replaceMetadata(ko: UnpackedKo, metadata: string): Promise<void> {
    await this.#alone(async () => {
      const target = join(ko.place.path, METADATA_FILE);
      const before = ko.content.entry.metadata;
      await this.#disk.replaceFile('metadata', target, stagingName(this.#layout), metadata, before);
      await this.#scanFor([ko.content.entry.id]);
    });
  }

  /** Moves all folders with this id into `.removed/`. Packages that are open go on reading from there. */
  async moveAway(key: string): Promise<void> {
    const known = (): readonly UnpackedKo[] => this.foldersOf(key);
    if (!this.#served.has(key)) return;
    await this.#alone(async () => {
      for (const ko of known()) await this.#moveAway(ko);
    });
  }

  settled(): Promise<void> {
    return this.#queue.idle();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run('', work);
  }

  async #scanFor(names: readonly KoName[]): Promise<void> {
    const keys = new Set(names.map(nameKey));
    await this.#scan((ko) => keys.has(nameKey(ko.content.entry.id)));
    const found = new Set(this.#folders.map((ko) => nameKey(ko.content.entry.id)));
    if (this.#folders.length > 0 && [...keys].some((key) => !found.has(key))) await this.#scan();
  }

  /** `isAsked`: of the folders that are known, those to look at. */
  async #scan(isAsked: (ko: UnpackedKo) => boolean = () => true): Promise<void> {
    const known = new Map(this.#folders.map((ko) => [ko.where, ko]));
    const spared = (where: string): UnpackedKo | undefined => {
      const ko = known.get(where);
      return ko !== undefined && ko.stamp !== undefined && !isAsked(ko) ? ko : undefined;
    };
    const { folders, damage } = await findUnpacked(this.#layout.root, (where) => spared(where) !== undefined);
    const found: UnpackedKo[] = [];
    await mapBounded(folders, CONCURRENT_READS, async (where) => {
      const path = join(this.#layout.root, where);
      try {
        const same = spared(where);
        if (same !== undefined) return void found.push(same);
        const place = known.get(where)?.place ?? { path };
        found.push({ where, place, ...(await readUnpacked(path, this.#hashes, this.#defaultNaan)) });
      } catch (thrown) {
        if (isOutOfHandles(thrown)) throw tooManyOpen(thrown);
        damage.push(isTransient(thrown) ? unreadable(where, thrown) : { where, cause: reasonOf(thrown) });
      }
    });
    // What cannot be read now is still what it was.
    const seen = new Set(found.map(({ where }) => where));
    const transient = damage.filter((each) => each.transient === true);
    for (const ko of transient.length === 0 ? [] : this.#folders) {
      if (!seen.has(ko.where) && transient.some((each) => isWithin(ko.where, each.where))) {
        found.push({ ...ko, stamp: undefined });
      }
    }
    found.sort((a, b) => (a.where < b.where ? -1 : 1));
    damage.sort((a, b) => (a.where < b.where ? -1 : 1));
    this.#show(found, damage);
  }

  async #moveAway(ko: UnpackedKo): Promise<void> {
    const target = await this.#removed.place(basename(ko.where));
    const from = ko.place.path;
    await this.#rename(ko, target);
    try {
      await this.#removed.sync();
      await this.#disk.syncFolder('place of the exploded folder', dirname(from));
    } catch (thrown) {
      await this.#rename(ko, from);
      throw thrown;
    }
    this.#show(
      this.#folders.filter((each) => each !== ko),
      this.#damage,
    );
  }

  async #rename({ place }: UnpackedKo, target: string): Promise<void> {
    const moved = this.#disk.move('exploded folder', place.path, target).then(() => void (place.path = target));
    place.moving = moved.catch(() => undefined);
    await moved;
  }

  #show(folders: readonly UnpackedKo[], damage: readonly ShelfDamage[]): void {
    const served = new Map<string, UnpackedKo>();
    const byKey = Map.groupBy(folders, ({ content }) => keyOf(content));
    for (const [key, [first]] of byKey) if (first !== undefined) served.set(key, first);
    const before = this.#served;
    this.#folders = folders;
    this.#served = served;
    this.#byKey = byKey;
    for (const [key, { content }] of served)
      if (before.get(key)?.content.entry.etag !== content.entry.etag) this.#changes.note(content.entry.id);
    for (const [key, { content }] of before) if (!served.has(key)) this.#changes.note(content.entry.id);
    this.#damage = damage;
  }
}

/** The folder itself, or one below it. */
const isWithin = (where: string, folder: string): boolean => where === folder || where.startsWith(`${folder}/`);
