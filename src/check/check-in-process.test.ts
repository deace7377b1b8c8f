import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { javascriptKo, zipOf } from '../../test/acceptance/support/ko.ts';
import { checkInProcess } from './check-in-process.ts';

/** Of the processes that name this folder: what they are, with their environment. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8');
      return text.includes(folder) ? [text] : [];
    } catch {
      return [];
    }
  });
}
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

test('a check that takes too long, or for which nobody waits, is ended with all that it started, and has no secrets', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-check-'));
  process.env['KGRID_PASSWORD'] = 'a secret of the service';
  try {
    const ko = javascriptKo('function run() { for (;;); }', {
      naan: 'a',
      name: 'loops',
      files: { 'worked-examples.yaml': '- { name: L, endpoint: /run, input: 1, expect: 1 }\n'.repeat(50) },
    });
    const archive = join(folder, 'ko.zip');
    await writeFile(archive, await zipOf(ko.files));
    const never = new AbortController();
    assert.deepEqual(await checkInProcess(archive, folder, { timeout: 300 }, never.signal), {
      failure: 'it took more than 0.3 s',
    });
    const left = new AbortController();
    const checking = checkInProcess(archive, folder, { timeout: 60_000 }, left.signal);
    // Until a sandbox runs.
    while ((await readdir(folder)).length < 2) await nextTurn();
    const running = processesOf(folder);
    assert.ok(running.length >= 1);
    assert.doesNotMatch(running.join(), /a secret of the service|KGRID_PASSWORD/);
    left.abort();
    assert.deepEqual(await checking, { failure: 'nobody waits for it any more' });
    while (processesOf(folder).length > 0) await nextTurn();
    const gone = new AbortController();
    gone.abort();
    assert.deepEqual(await checkInProcess(archive, folder, { timeout: 60_000 }, gone.signal), {
      failure: 'nobody waits for it any more',
    });
  } finally {
    delete process.env['KGRID_PASSWORD'];
    await rm(folder, { recursive: true, force: true });
  }
});
