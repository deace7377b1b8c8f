/** Makes what is staged, kept or lies in the folder of a person the package of its KO. */
import { koKey, type KoId } from '../../knowledge-object/id.ts';
import { requirePlace } from '../require-place.ts';
import type { KoPackage, ShelfEntry } from '../shelf.ts';
import type { DurableFiles } from './durable-files.ts';
import type { ExplodedKo, ExplodedPackages } from './exploded-packages.ts';
import type { Pointer } from './pointer.ts';
import { copyFiles } from './rules-of-changes.ts';
import { stagingName, type ShelfLayout } from './shelf-layout.ts';
import { StagedPackage, type Publish } from './staged-package.ts';
import type { StoredPackages, Warn } from './stored-packages.ts';

export interface PackageIntakeParts {
  readonly layout: ShelfLayout;
  readonly disk: DurableFiles;
  readonly stored: StoredPackages;
  readonly exploded: ExplodedPackages;
  readonly warn: Warn;
  /** What is there under an id. */
  readonly entry: (id: KoId) => ShelfEntry | undefined;
}

export class PackageIntake {
  readonly #parts: PackageIntakeParts;

  constructor(parts: PackageIntakeParts) {
    this.#parts = parts;
  }

  stage(publish: Publish): Promise<StagedPackage> {
    return StagedPackage.create(stagingName(this.#parts.layout), this.#parts.disk, publish);
  }

  async take(id: KoId, staged: StagedPackage): Promise<ShelfEntry> {
    const content = await staged.seal(id);
    const there = this.#parts.entry(id);
    requirePlace(content.entry, there);
    await this.#parts.stored.take(content, staged.content);
    if (there?.digest !== content.entry.digest) staged.replaced = there?.digest;
    await this.#moveFormerFolder(id);
    return content.entry;
  }

  async adopt(pointer: Pointer): Promise<ShelfEntry> {
    const { entry } = pointer.content;
    await this.#parts.stored.adopt(pointer);
    await this.#moveFormerFolder(entry.id);
    return entry;
  }

  /** `metadata`: in place of its own. */
  async copy(id: KoId, from: KoPackage, metadata?: string): Promise<ShelfEntry> {
    await using staged = await this.stage((_id, each) => this.take(id, each));
    await copyFiles(from, staged, metadata);
    return await staged.commit(id);
  }

  /** What is changed in the folder of a person is kept as a package of its own. */
  async keepCopy(ko: ExplodedKo): Promise<void> {
    const { exploded, stored } = this.#parts;
    const { entry } = ko.content;
    await using staged = await this.stage(async (id, each) => {
      await stored.keepCopy(await each.seal(id), each.content);
      return entry;
    });
    await copyFiles(exploded.open(ko), staged);
    await staged.commit(entry.id);
  }

  async #moveFormerFolder(id: KoId): Promise<void> {
    try {
      await this.#parts.exploded.moveAway(koKey(id), 'replaced');
    } catch (thrown) {
      this.#parts.warn(`${koKey(id)} was imported, but its former folder could not be moved to .removed`, thrown);
    }
  }
}
