import { test } from 'node:test';

/**
 * Loads files of tests that share a process. What the tests of the process share ends when no test is left that is
 * known, so none begins before all are.
 */
export async function loadedTogether(name: string, load: () => Promise<void>): Promise<void> {
  const { promise: loaded, resolve } = Promise.withResolvers<void>();
  void test(`the files of ${name} are loaded`, () => loaded);
  try {
    await load();
  } finally {
    resolve();
  }
}
