import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { otherAtId } from '../../knowledge-object/metadata.ts';
import { packageDamaged } from '../../lib/errors.ts';
import type { ChangeLog } from '../change-log.ts';
import type { KoPackage } from '../shelf.ts';
import { isMissing } from '../disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import { EmptyMark } from './empty-index.ts';
import { Leases } from './leases.ts';
import type { KeptPackages } from './kept-packages.ts';
import type { StoredKo } from './load-index.ts';
import { LoadedPackages } from './loaded-packages.ts';
import { OpenPackage } from './open-package.ts';
import { artifactsOf, describePackage, keyOf, type PackageContent } from './package-content.ts';
import { faultOf } from './package-faults.ts';
import { PackageRecords } from './package-records.ts';
import { renderPointer } from './pointer.ts';
import { pointerName, recordName, stagingName, type ShelfLayout } from './shelf-layout.ts';

export type Warn = (message: string, cause?: unknown) => void;

export interface StoredPackagesOptions {
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  readonly changes: ChangeLog;
  readonly kept: KeptPackages;
  readonly warn: Warn;
}

/**
 * The KOs that were imported: immutable package folders, and a pointer file for each KO that is replaced by
 * renaming. A KO is there from the moment that its pointer is, and not before. Writes to one KO must not overlap.
 */
export class StoredPackages {
  readonly loaded: LoadedPackages;
  readonly #layout: ShelfLayout;
  readonly #disk: DurableFiles;
  readonly #leases: Leases;
  readonly #records: PackageRecords;
  readonly #emptyMark: EmptyMark;
  readonly #kept: KeptPackages;
  readonly #warn: Warn;

  constructor({ layout, disk, changes, kept, warn }: StoredPackagesOptions) {
    this.#layout = layout;
    this.#disk = disk;
    this.#kept = kept;
    this.#warn = warn;
    this.#records = new PackageRecords(layout, disk);
    this.#emptyMark = new EmptyMark(layout, disk);
    this.loaded = new LoadedPackages(layout, changes);
    this.#leases = new Leases(async (folder) => {
      try {
        await disk.remove('old package', join(layout.objects, folder));
      } catch (thrown) {
        warn('The files of a replaced or deleted knowledge object stay; the next start moves them to .removed', thrown);
      }
    });
  }

  /** For the owner of the shelf, before it serves: notes what is on it, so that the index can be told from a lost one. */
  async noteIndex(): Promise<void> {
    await this.#markEmpty();
    try {
      await this.#records.addMissing([...this.loaded.kos.values()]);
    } catch (thrown) {
      this.#warn('The index could not be noted beside the packages, from which it could be rebuilt', thrown);
    }
  }

  /** @throws packageDamaged. */
  open(ko: StoredKo): KoPackage {
    const { content, folder } = ko;
    if (ko.damage !== undefined) {
      throw packageDamaged(`The package of ${keyOf(content)} is damaged: ${ko.damage}.`);
    }
    return new OpenPackage({
      content,
      place: { path: join(this.#layout.objects, folder) },
      verify: true,
      release: this.#leases.hold(folder),
      onDamage: (cause) => this.loaded.setDamage(ko, cause),
    });
  }

  /** Makes a folder of files that are on the disk the package of this KO. @param source is moved away where its files are new. */
  async take(content: PackageContent, source: string): Promise<void> {
    const known = await this.#wholeFolder(content);
    if (known !== undefined) return this.adopt({ content, folder: known });
    const folder = newFolder(content);
    const target = join(this.#layout.objects, folder);
    await this.#disk.move('package', source, target);
    try {
      await this.#records.add({ content, folder });
      await this.#disk.syncFolder('packages', this.#layout.objects);
      await this.#publish({ content, folder });
    } catch (thrown) {
      if (!(await this.#refersTo(content.entry.id, folder))) {
        await rm(join(this.#layout.objects, recordName(folder)), { force: true });
        await rm(target, { recursive: true, force: true });
      }
      throw thrown;
    }
  }

  replaceMetadata(ko: StoredKo, metadata: string): Promise<void> {
    const { id } = ko.content.entry;
    const content = describePackage(id, metadata, artifactsOf(ko.content), otherAtId(id, metadata));
    return this.adopt({ content, folder: ko.folder, damage: ko.damage });
  }

  /** Makes a package of which the files lie in `objects/` that of its KO. */
  async adopt(ko: StoredKo): Promise<void> {
    const putBack = await this.#records.replace(ko);
    try {
      await this.#publish(ko);
    } catch (thrown) {
      await putBack().catch(() => undefined);
      throw thrown;
    }
  }

  /** Keeps a copy of what is about to be changed in place. @param source is moved away where its files are new. */
  async keepCopy(content: PackageContent, source: string): Promise<void> {
    const folder = (await this.#wholeFolder(content)) ?? newFolder(content);
    const target = join(this.#layout.objects, folder);
    if (!existsSync(target)) await this.#disk.move('package', source, target);
    await this.#disk.syncFolder('packages', this.#layout.objects);
    await this.#kept.add(content, 'replaced', { folder });
  }

  async remove(id: KoId): Promise<void> {
    const key = koKey(id);
    const before = this.loaded.kos.get(key);
    await this.#keeping(before, 'deleted', async () => {
      if (this.loaded.kos.size + this.loaded.unreadable.size === 1) await this.#emptyMark.set(true);
      await this.#point(id, undefined);
    });
    this.loaded.show(key, undefined);
    await this.#markEmpty();
    if (before !== undefined) await this.retire(id, before.folder);
  }

  /** A package folder to which its KO or what is kept of it may not refer any more. */
  async retire(id: KoId, folder: string): Promise<void> {
    if (this.loaded.kos.get(koKey(id))?.folder === folder) return;
    await this.#removeRecord(folder);
    const isKept = (await this.#kept.list(id)).some((each) => each.folder === folder);
    if (!isKept) await this.#leases.retire(folder);
  }

  /** Looks again at the packages that are damaged: a person may have repaired them. */
  async verifyDamaged(isAsked: (key: string) => boolean): Promise<void> {
    for (const ko of [...this.loaded.damaged].filter(({ content }) => isAsked(keyOf(content)))) {
      // What cannot be read now may still be what it was.
      this.loaded.setDamage(ko, await faultOf(this.#layout, ko).catch(() => ko.damage));
    }
  }

  settled(): Promise<void> {
    return this.#leases.settled();
  }

  async #publish(ko: StoredKo): Promise<void> {
    const { id } = ko.content.entry;
    const before = this.loaded.kos.get(koKey(id));
    const other = before?.content.entry.digest === ko.content.entry.digest ? undefined : before;
    await this.#keeping(other, 'replaced', () => this.#point(id, ko));
    this.loaded.show(koKey(id), ko);
    await this.#markEmpty();
    if (before !== undefined) await this.retire(id, before.folder);
  }

  /** What is about to go is kept before it goes, so that a kill loses none. */
  async #keeping(before: StoredKo | undefined, why: 'deleted' | 'replaced', work: () => Promise<void>): Promise<void> {
    const kept = before && (await this.#kept.add(before.content, why, { folder: before.folder }));
    try {
      await work();
    } catch (thrown) {
      // Where the disk does not even say that all is as it was, both stay: what is there is not shown as kept.
      if (kept !== undefined && (await this.#isAt(before))) await this.#kept.drop(kept).catch(() => undefined);
      throw thrown;
    }
  }

  /** A folder of this KO that has the same files, whole: what is there or kept twice costs once. */
  async #wholeFolder(content: PackageContent): Promise<string | undefined> {
    const { id } = content.entry;
    const kept = await this.#kept.list(id);
    const folders = new Set([this.loaded.kos.get(koKey(id))?.folder, ...kept.map(({ folder }) => folder)]);
    for (const folder of folders) {
      if (folder?.startsWith(`${content.artifactsDigest}-`) !== true) continue;
      const fault = await faultOf(this.#layout, { content, folder }).catch(() => 'unreadable');
      if (fault === undefined) return folder;
    }
    return undefined;
  }

  async #isAt(ko: StoredKo | undefined): Promise<boolean> {
    if (ko === undefined) return false;
    const name = join(this.#layout.index, pointerName(ko.content.entry.id));
    return (await readFile(name, 'utf8').catch(() => undefined)) === textOf(ko);
  }

  async #removeRecord(folder: string): Promise<void> {
    await this.#records.remove(folder).catch((thrown: unknown) => {
      this.#warn('The record of a replaced or deleted knowledge object could not be removed', thrown);
    });
  }

  async #markEmpty(): Promise<void> {
    try {
      await this.#emptyMark.set(this.loaded.kos.size + this.loaded.unreadable.size === 0);
    } catch (thrown) {
      this.#warn('Whether the index may be empty could not be noted in .kgrid', thrown);
    }
  }

  async #point(id: KoId, ko: StoredKo | undefined): Promise<void> {
    const target = join(this.#layout.index, pointerName(id));
    const before = textOf(this.loaded.kos.get(koKey(id))) ?? (await readFile(target, 'utf8').catch(() => undefined));
    await this.#disk.replaceFile('pointer', target, stagingName(this.#layout), textOf(ko), before);
  }

  async #refersTo(id: KoId, folder: string): Promise<boolean> {
    try {
      return (await readFile(join(this.#layout.index, pointerName(id)), 'utf8')).includes(folder);
    } catch (thrown) {
      return !isMissing(thrown);
    }
  }
}

const textOf = (ko: StoredKo | undefined): string | undefined => ko && renderPointer(ko);

const newFolder = ({ artifactsDigest }: PackageContent): string => `${artifactsDigest}-${crypto.randomUUID()}`;
