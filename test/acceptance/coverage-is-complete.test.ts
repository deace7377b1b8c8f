import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { rowsOf, titlesIn } from '../support/written-tests.ts';

const HERE = import.meta.dirname;

/** `<file> › <title>` of every acceptance test but this file's. */
async function writtenTests(): Promise<string[]> {
  const files = (await readdir(HERE)).filter(
    (name) => name.endsWith('.test.ts') && !import.meta.filename.endsWith(name),
  );
  const found = files.map(async (file) => {
    const source = await readFile(join(HERE, file), 'utf8');
    const titles = titlesIn(source, file);
    assert.equal(
      titles.length,
      source.match(/^\s*(?:test|longTest)\(/gm)?.length ?? 0,
      `${file}: every title is written`,
    );
    return titles.map((title) => `${file} › ${title}`);
  });
  return (await Promise.all(found)).flat();
}

const coverage = await readFile(join(HERE, 'COVERAGE.md'), 'utf8');
const rows = rowsOf(coverage);

test('each row of COVERAGE.md has an id of its own and names tests that exist', async () => {
  const existing = new Set(await writtenTests());
  assert.ok(rows.length > 100);
  assert.equal(new Set(rows.map(({ statement }) => statement)).size, rows.length, 'an id stands twice');
  for (const { statement: id, tests } of rows) {
    assert.match(id, /^[SR](-[A-Z0-9]+)+$/);
    assert.ok(tests.length > 0, `${id} names no test`);
    for (const name of tests) assert.ok(existing.has(name), `${id} names a test that is not there: ${name}`);
  }
});

test('each acceptance test is named in COVERAGE.md', async () => {
  const named = new Set(rows.flatMap((row) => row.tests));
  const forgotten = (await writtenTests()).filter((name) => !named.has(name));
  assert.deepEqual(forgotten, []);
});
