/** `kgrid run` that is killed again and again leaves what an undisturbed run leaves. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { cohortKo, people } from './cohort.ts';
import { kgrid, LAUNCHER, temporaryFolder } from './kgrid.ts';

/** A thousand or two go by between two kills. */
const PEOPLE = inRound(5000, 20_000);
const LOOK_EVERY_MS = 5;

test('killed whenever it has come further, and resumed, it writes byte for byte the same', async (t) => {
  await using shelf = await temporaryFolder();
  await cohortKo(shelf.path);
  await using service = await startService({ shelf: shelf.path });
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const env = { KGRID_URL: service.url };
  await writeFile(join(cwd, 'in.csv'), people(PEOPLE));
  const args = ['run', 'test/cohort/1.0/score', 'in.csv', '--concurrency', '2', '-o'];
  for (const format of ['csv', 'parquet'])
    await t.test(format, async () => {
      const undisturbed = await kgrid([...args, `good.${format}`], { cwd, env });
      assert.equal(undisturbed.code, 1, undisturbed.stderr);

      const progress = async (): Promise<number> => {
        const text = await readFile(join(cwd, `out.${format}.run/progress.json`), 'utf8').catch(() => '{}');
        return (JSON.parse(text) as { state?: { records: number } }).state?.records ?? 0;
      };
      let kills = 0;
      for (let done = 0; ; kills++) {
        const child = spawn(process.execPath, [LAUNCHER, ...args, `out.${format}`, '--resume'], {
          cwd,
          env: { PATH: process.env['PATH'], ...env },
          stdio: 'ignore',
        });
        const ended = once(child, 'exit');
        while (child.exitCode === null && (await progress()) <= done) await pause(LOOK_EVERY_MS);
        done = Math.max(done, await progress());
        child.kill('SIGKILL');
        const [code] = (await ended) as [number | null];
        if (code === null) continue;
        assert.equal(code, 1);
        break;
      }
      assert.ok(kills > 0);
      for (const name of [format, `${format}.failed.ndjson`])
        assert.deepEqual(await readFile(join(cwd, `out.${name}`)), await readFile(join(cwd, `good.${name}`)));
      assert.equal((await readdir(cwd)).includes(`out.${format}.run`), false, 'nothing else is left');
    });
});
