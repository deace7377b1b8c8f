import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';

const RUN = join(import.meta.dirname, '../run.ts');

const folder = await mkdtemp(join(tmpdir(), 'kgrid-again-'));
after(() => rm(folder, { recursive: true }));

const PASSES = `test('passes', () => undefined);`;
const FAILS = `test('fails', () => { throw new Error('at fault'); });`;
/** The second of its processes finds what the first left. */
const FAILS_ONCE = `test('fails once', () => {
  const mark = import.meta.filename + '.mark';
  if (existsSync(mark)) return;
  writeFileSync(mark, '');
  throw new Error('too much to do');
});`;

/** What a run of files with these texts ends with. */
async function runOf(...texts: readonly string[]): Promise<{ readonly code: number | null; readonly printed: string }> {
  const files = texts.map((_, i) => join(folder, `${crypto.randomUUID()}-${i}.test.mjs`));
  const head = `import { existsSync, writeFileSync } from 'node:fs';\nimport { test } from 'node:test';\n`;
  for (const [i, file] of files.entries()) await writeFile(file, head + texts[i]);
  const env = { ...process.env };
  delete env['NODE_TEST_CONTEXT'];
  const child = spawn(process.execPath, [RUN, ...files], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const [printed] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { code: child.exitCode, printed };
}

const countOf = (needle: string, { printed }: { readonly printed: string }): number => printed.split(needle).length - 1;

test('what fails beside others is run again alone, which is told, and is red only where it fails alone too', async () => {
  const [once, always] = await Promise.all([runOf(PASSES, FAILS_ONCE), runOf(PASSES, FAILS)]);
  assert.equal(once.code, 0, once.printed);
  assert.match(once.printed, /\nFailed beside others and passed alone:\n.*-1\.test\.mjs\n/);
  assert.match(once.printed, /too much to do/);
  assert.equal(countOf('✔ passes', once), 1, 'what passed is not run again');
  assert.equal(always.code, 1);
  assert.doesNotMatch(always.printed, /passed alone/);
});

test('many failures are no accident, nor is that of all', async () => {
  const [many, alone] = await Promise.all([runOf(PASSES, ...Array<string>(4).fill(FAILS_ONCE)), runOf(FAILS_ONCE)]);
  for (const run of [many, alone]) {
    assert.equal(run.code, 1);
    assert.doesNotMatch(run.printed, /Run again/);
  }
});
