import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mapBounded } from '../../lib/map-bounded.ts';
import { isMissing } from '../disk-errors.ts';
import type { DurableFiles } from './durable-files.ts';
import { renderRecord, type Pointer } from './pointer.ts';
import { recordName, stagingName, type ShelfLayout } from './shelf-layout.ts';

const CONCURRENT_WRITES = 8;

/** The records beside the packages, of which the index can be made again. */
export class PackageRecords {
  readonly #layout: ShelfLayout;
  readonly #disk: DurableFiles;

  constructor(layout: ShelfLayout, disk: DurableFiles) {
    this.#layout = layout;
    this.#disk = disk;
  }

  /** Of a new package; durable once `objects/` is synced. */
  async add(pointer: Pointer): Promise<void> {
    const text = renderRecord(pointer, new Date());
    await this.#disk.createFile('record', this.#pathOf(pointer.folder), (file) => file.writeFile(text));
  }

  /** @returns puts the earlier one back. */
  async replace(pointer: Pointer): Promise<() => Promise<void>> {
    const target = this.#pathOf(pointer.folder);
    const before = await readFile(target, 'utf8').catch((thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown;
      return undefined;
    });
    const write = (text: string | undefined): Promise<void> =>
      this.#disk.replaceFile('record', target, stagingName(this.#layout), text, before);
    await write(renderRecord(pointer, new Date()));
    return () => write(before);
  }

  /** From now on the package counts as given up. */
  remove(folder: string): Promise<void> {
    return this.#disk.remove('old record', this.#pathOf(folder));
  }

  /** For packages that were stored before there were records. */
  async addMissing(pointers: readonly Pointer[]): Promise<void> {
    const names = new Set(await readdir(this.#layout.objects));
    const without = pointers.filter(({ folder }) => names.has(folder) && !names.has(recordName(folder)));
    if (without.length === 0) return;
    await mapBounded(without, CONCURRENT_WRITES, (pointer) => this.add(pointer));
    await this.#disk.syncFolder('packages', this.#layout.objects);
  }

  #pathOf(folder: string): string {
    return join(this.#layout.objects, recordName(folder));
  }
}
