import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join, matchesGlob, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { isOfPages, LONG_FILES, SHORT_ROUNDS, SLOW_RINGS, testFiles } from './test-files.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
/** Not of the project: what was installed, and what runs left behind. */
const NOT_OURS = /^(\.[^/]*|node_modules)(\/|$)/;

test('every file of tests is run by a script of the project', async () => {
  const { scripts } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const globsOf = (script: string): readonly string[] => scripts[script]?.match(/(?<=')[^']+\.test\.ts(?=')/g) ?? [];
  const globs = SLOW_RINGS.flatMap((ring) => globsOf(`test:${ring}`).slice(0, 1));
  const isRunBy = (path: string, those: readonly string[]): boolean => those.some((glob) => matchesGlob(path, glob));
  const long: string[] = [];
  for (const [script, files] of Object.entries(LONG_FILES)) {
    const others = files.filter((path) => !isRunBy(path, globsOf(script)));
    assert.deepEqual(others, [], `npm run ${script} does not run them`);
    long.push(...files);
  }
  const run = new Set(testFiles(PROJECT).map((path) => relative(PROJECT, path)));
  const all = (await readdir(PROJECT, { recursive: true })).filter(
    (path) => path.endsWith('.test.ts') && !NOT_OURS.test(path),
  );
  assert.ok(all.length > 100);
  assert.deepEqual(
    SHORT_ROUNDS.filter((path) => !run.has(path)),
    [],
  );
  assert.deepEqual(
    all.filter((path) => !run.has(path) && !isOfPages(path) && !long.includes(path) && !isRunBy(path, globs)),
    [],
  );
});
