import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { packageDamaged } from '../../lib/errors.ts';
import type { KoPackage } from '../shelf.ts';
import { isMissing } from './disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import { hashFile } from './hash-file.ts';
import { Leases } from './leases.ts';
import { loadIndex, type LoadedIndex, type StoredKo } from './load-index.ts';
import { OpenPackage } from './open-package.ts';
import { artifactsOf, describePackage, keyOf, type PackageContent } from './package-content.ts';
import { renderPointer } from './pointer.ts';
import { pointerName, stagingName, type ShelfLayout } from './shelf-layout.ts';

export type Warn = (message: string, cause?: unknown) => void;

/**
 * The KOs that were imported: immutable package folders, and a pointer file for each KO that is replaced by
 * renaming. A KO is there from the moment that its pointer is, and not before. Writes to one KO must not overlap.
 */
export class StoredPackages {
  #loaded: LoadedIndex;
  readonly #layout: ShelfLayout;
  readonly #disk: DurableFiles;
  readonly #leases: Leases;

  constructor(layout: ShelfLayout, disk: DurableFiles, warn: Warn) {
    this.#layout = layout;
    this.#disk = disk;
    this.#loaded = loadIndex(layout);
    this.#leases = new Leases(async (folder) => {
      try {
        await disk.remove('old package', join(layout.objects, folder));
      } catch (thrown) {
        warn('The files of a replaced or deleted knowledge object stay until the next start', thrown);
      }
    });
  }

  /** By `koKey`. Another map after each change. */
  get kos(): ReadonlyMap<string, StoredKo> {
    return this.#loaded.kos;
  }

  /** Causes, by `koKey` or the name of the pointer file. */
  get unreadable(): ReadonlyMap<string, string> {
    return this.#loaded.unreadable;
  }

  /** For a shelf that another process writes. */
  reload(): void {
    this.#loaded = loadIndex(this.#layout);
  }

  /** Removes what imports that did not end have left. */
  async removeLeftovers(warn: Warn): Promise<void> {
    const referred = new Set([...this.kos.values()].map((ko) => ko.folder));
    for (const name of await readdir(this.#layout.staging)) await this.#clear(join(this.#layout.staging, name), warn);
    // An entry that cannot be read may refer to any folder, and a person may yet repair it.
    if (this.unreadable.size > 0) return;
    for (const name of await readdir(this.#layout.objects)) {
      if (!referred.has(name)) await this.#clear(join(this.#layout.objects, name), warn);
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
      onDamage: (cause) => {
        ko.damage = cause;
      },
    });
  }

  /** Makes a folder of files that are on the disk the package of this KO. @param source is moved away. */
  async take(content: PackageContent, source: string): Promise<void> {
    const folder = `${content.entry.digest}-${crypto.randomUUID()}`;
    const target = join(this.#layout.objects, folder);
    await this.#disk.move('package', source, target);
    try {
      await this.#disk.syncFolder('packages', this.#layout.objects);
      await this.#publish({ content, folder });
    } catch (thrown) {
      if (!(await this.#refersTo(content.entry.id, folder))) await rm(target, { recursive: true, force: true });
      throw thrown;
    }
  }

  async replaceMetadata(ko: StoredKo, metadata: string): Promise<void> {
    const content = describePackage(ko.content.entry.id, metadata, artifactsOf(ko.content));
    await this.#publish({ content, folder: ko.folder, damage: ko.damage });
  }

  async remove(id: KoId): Promise<void> {
    const key = koKey(id);
    const before = this.kos.get(key);
    await this.#point(id, undefined);
    this.#show(key, undefined);
    if (before !== undefined) await this.#leases.retire(before.folder);
  }

  /** Looks again at the packages that are damaged: a person may have repaired them. */
  async verifyDamaged(): Promise<void> {
    for (const ko of this.kos.values()) {
      if (ko.damage !== undefined) ko.damage = await this.#verify(ko);
    }
  }

  settled(): Promise<void> {
    return this.#leases.settled();
  }

  async #publish(ko: StoredKo): Promise<void> {
    const { id } = ko.content.entry;
    const before = this.kos.get(koKey(id));
    await this.#point(id, ko);
    this.#show(koKey(id), ko);
    if (before !== undefined && before.folder !== ko.folder) await this.#leases.retire(before.folder);
  }

  #show(key: string, ko: StoredKo | undefined): void {
    const kos = new Map(this.#loaded.kos);
    const unreadable = new Map(this.#loaded.unreadable);
    if (ko === undefined) kos.delete(key);
    else kos.set(key, ko);
    unreadable.delete(key);
    this.#loaded = { kos, unreadable };
  }

  async #point(id: KoId, ko: StoredKo | undefined): Promise<void> {
    const target = join(this.#layout.index, pointerName(id));
    const before = this.kos.get(koKey(id));
    await this.#disk.replaceFile('pointer', target, stagingName(this.#layout), textOf(ko), textOf(before));
  }

  async #refersTo(id: KoId, folder: string): Promise<boolean> {
    try {
      return (await readFile(join(this.#layout.index, pointerName(id)), 'utf8')).includes(folder);
    } catch (thrown) {
      return !isMissing(thrown);
    }
  }

  async #verify({ content, folder }: StoredKo): Promise<string | undefined> {
    for (const { path, size, sha256 } of artifactsOf(content)) {
      const found = await hashFile(join(this.#layout.objects, folder, path), size).catch(() => undefined);
      if (found !== sha256)
        return `its file ${path} is ${found === undefined ? 'missing' : 'not what was stored'}; import it again`;
    }
    return undefined;
  }

  async #clear(path: string, warn: Warn): Promise<void> {
    try {
      await this.#disk.remove('leftover', path);
    } catch (thrown) {
      warn('A leftover of an import that did not end could not be removed', thrown);
    }
  }
}

const textOf = (ko: StoredKo | undefined): string | undefined => ko && renderPointer(ko);
