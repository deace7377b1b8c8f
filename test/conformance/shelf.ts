/**
 * What every shelf store must do, as tests. A store's own test calls `shelfConformance` with a factory; see
 * `src/shelf/store/keeps-the-shelf-contract.test.ts`.
 */
import { describe, test } from 'node:test';
import type { KeepRemoved, Shelf } from '../../src/shelf/shelf.ts';
import { atIdTests } from './shelf-at-ids.ts';
import { concurrencyTests } from './shelf-concurrency.ts';
import { importTests } from './shelf-imports.ts';
import { listingTests } from './shelf-listings.ts';
import { removedTests } from './shelf-removed.ts';
import { openPackageTests } from './shelf-open-packages.ts';
import { writeTests } from './shelf-writes.ts';

export interface StorageOptions {
  readonly keep?: KeepRemoved;
  /** Epoch milliseconds, by which the age of what is kept is told. */
  readonly now?: () => number;
}

/** One empty place to store packages in: a folder, a database schema. */
export interface ShelfStorage extends AsyncDisposable {
  /** Opens the shelf there. Called again when the earlier one is disposed, it finds what was stored. */
  open(options?: StorageOptions): Promise<Shelf>;
  /** How many sets of files are stored, of KOs and of what is kept of them. */
  packages(): Promise<number>;
}

/** Registers one test that gets a storage of its own; the shelves that it opens are closed after it. */
export type TestWithShelf = (name: string, body: (storage: ShelfStorage) => Promise<void>) => void;

export function shelfConformance(store: string, makeStorage: () => Promise<ShelfStorage>): void {
  const testWithShelf: TestWithShelf = (name, body) =>
    void test(name, async () => {
      await using storage = await makeStorage();
      await body(storage);
    });
  describe(`the ${store} keeps the contract of a shelf`, () => {
    importTests(testWithShelf);
    listingTests(testWithShelf);
    openPackageTests(testWithShelf);
    writeTests(testWithShelf);
    removedTests(testWithShelf);
    atIdTests(testWithShelf);
    concurrencyTests(testWithShelf);
  });
}
