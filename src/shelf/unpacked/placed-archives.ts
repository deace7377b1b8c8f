/** Archives that people put on the shelf: each is imported once, as if it were uploaded, and put aside. */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { koKey } from '../../knowledge-object/id.ts';
import { outcomeOf, ServiceError } from '../../lib/errors.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import { isMissing, reasonOf } from '../disk-errors.ts';
import type { ChangeAuthor } from '../change-author.ts';
import { importArchive, type ImportRules } from '../import/import-zip.ts';
import type { Shelf, ShelfDamage } from '../shelf.ts';
import type { RemovedFolder } from './removed-folder.ts';

export interface PlacedArchivesOptions {
  /** The shelf folder. */
  readonly root: string;
  readonly removed: RemovedFolder;
  /** Undefined where archives are not imported. */
  readonly rules: ImportRules | undefined;
  readonly warn: (message: string, cause?: unknown) => void;
}

interface Refused {
  /** The archive has not changed while this is the same. */
  readonly stamp: string;
  readonly cause: string;
}

export class PlacedArchives {
  readonly #options: PlacedArchivesOptions;
  readonly #queue = new FairQueue({ perKey: 1 });
  /** By path below the shelf, in order. */
  #refused: ReadonlyMap<string, Refused> = new Map();

  constructor(options: PlacedArchivesOptions) {
    this.#options = options;
  }

  damage(): readonly ShelfDamage[] {
    return [...this.#refused].map(([where, { cause }]) => ({ where, cause }));
  }

  /** Imports those that were not refused as they are now. @param archives all that lie there, relative to the shelf. */
  take(archives: readonly string[], shelf: Shelf, author?: ChangeAuthor): Promise<void> {
    return this.#queue.run('', async () => {
      const refused = new Map<string, Refused>();
      for (const where of archives) {
        const each = await this.#take(where, shelf, author);
        if (each !== undefined) refused.set(where, each);
      }
      this.#refused = refused;
    });
  }

  async #take(where: string, shelf: Shelf, author: ChangeAuthor | undefined): Promise<Refused | undefined> {
    const { root, removed, rules, warn } = this.#options;
    const path = join(root, where);
    let stamp = '';
    try {
      const { size, mtimeNs, ctimeNs } = await lstat(path, { bigint: true });
      stamp = `${String(size)} ${String(mtimeNs)} ${String(ctimeNs)}`;
      if (rules === undefined) return { stamp, cause: 'import it with POST /kos, or unpack it here' };
      const before = this.#refused.get(where);
      if (before?.stamp === stamp) return before;
      const { entry, digests } = await importArchive(path, shelf, rules, author);
      rules.observe?.('done');
      if (digests !== undefined) warn(`${koKey(entry.id)} was replaced by the archive ${where}: ${digests}`);
    } catch (thrown) {
      // Somebody else took it away.
      if (isMissing(thrown)) return undefined;
      rules?.observe?.(outcomeOf(thrown));
      // What may go well another time is tried again.
      const isFinal = thrown instanceof ServiceError && thrown.status < 500;
      return { stamp: isFinal ? stamp : '', cause: thrown instanceof ServiceError ? thrown.message : reasonOf(thrown) };
    }
    try {
      await removed.take('archive', path);
      return undefined;
    } catch (thrown) {
      const cause = `it was imported, and cannot be moved to .removed (${reasonOf(thrown)}): move it away`;
      return isMissing(thrown) ? undefined : { stamp: '', cause };
    }
  }
}
