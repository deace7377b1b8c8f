import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FileRuns, runOfFile } from './run-files.ts';

const folder = await mkdtemp(join(tmpdir(), 'kgrid-runs-'));
after(() => rm(folder, { recursive: true }));

const HANGS = `test('passes', () => undefined);
test('hangs', () => new Promise(() => setInterval(() => undefined, 1000)));`;

/** Runs of files with these texts, all at a time. */
async function begin(
  texts: Readonly<Record<string, string>>,
): Promise<{ readonly runs: FileRuns; readonly over: Promise<void>; readonly printed: () => string }> {
  for (const [name, text] of Object.entries(texts))
    await writeFile(join(folder, name), `import { test } from 'node:test';\n${text}`);
  let printed = '';
  const runs = new FileRuns(folder, (text) => void (printed += text));
  const each = Object.keys(texts).map((name) => {
    const run = runOfFile(join(folder, name), folder, []);
    return name === 'late.test.mjs' ? { ...run, limitMs: 1000 } : run;
  });
  return { runs, over: runs.run(each, each.length), printed: () => printed };
}

test('a file that fails, that cannot be loaded or that goes on for too long is a failure, and is named', async () => {
  const texts = {
    'good.test.mjs': `test('passes', () => undefined);`,
    'bad.test.mjs': `test('fails', () => { throw new Error('at fault'); });`,
    'broken.test.mjs': `import './not-there.mjs';`,
    'late.test.mjs': HANGS,
  };
  const { runs, over, printed } = await begin(texts);
  await over;
  assert.equal(runs.passed, false);
  assert.deepEqual(runs.failed.toSorted(), ['bad.test.mjs', 'broken.test.mjs', 'late.test.mjs']);
  assert.match(printed(), /^✔ good\.test\.mjs \([\d.]+ s\)$/m);
  assert.match(printed(), /^✖ bad\.test\.mjs \([\d.]+ s\)\n[^]*at fault/m);
  assert.match(printed(), /^✖ late\.test\.mjs \(ended at its limit, 1 s\)$/m);
  assert.match(runs.summary(), /4 files, 2 tests, .* Failed:\n(?: {2}\w+\.test\.mjs\n){3}$/);
});

test('a run that is ended names what still ran', async () => {
  const { runs, over, printed } = await begin({ 'hangs.test.mjs': HANGS });
  await runs.end('SIGTERM');
  await over;
  assert.equal(runs.passed, false);
  assert.match(printed(), /Ended by SIGTERM\. 0 files were not begun, and these still ran:\n✖ hangs\.test\.mjs/);
});
