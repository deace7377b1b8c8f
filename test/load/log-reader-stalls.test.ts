/** The log goes to a program that stops reading: the service goes on, and says afterwards how many lines are lost. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { clientOf, pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { PROJECT, temporaryFolder } from '../acceptance/support/service.ts';
import type { LogLine } from '../acceptance/support/service.ts';

const printer = javascriptKo(
  `function run(n) { for (let i = 0; i < 100; i++) console.log('x'.repeat(1000)); return n + 1; }`,
  { naan: uniqueNaan(), name: 'printer' },
);
/** Each leaves an audit line of half a kilobyte. */
const CHANGES = 8000;
const AT_ONCE = 20;

test('a reader of the log that stalls holds up no call', { timeout: 120_000 }, async () => {
  await using shelf = await temporaryFolder();
  const args = ['src/main.ts', '--port', '0', '--runtimes', 'none', '--shelf', shelf.path, '--profile', 'dev'];
  const child = spawn(process.execPath, args, { cwd: PROJECT, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const lines = createInterface({ input: child.stdout });
    const events = ['listening', 'log-lines-lost', 'stopped'].map((event) => {
      const { promise, resolve } = Promise.withResolvers<LogLine>();
      lines.on('line', (text) => {
        const line = JSON.parse(text) as LogLine;
        if (line['event'] === event) resolve(line);
      });
      return promise;
    });
    const [listening, told, stopped] = events;
    assert.ok(listening && told && stopped);
    const client = clientOf(String((await listening)['url']));
    const lostLines = async (): Promise<number> =>
      ((await client.get('/actuator/info')).object['log'] as { lostLines: number }).lostLines;
    await client.serve(printer);
    assert.equal(await lostLines(), 0);

    child.stdout.pause();
    const nowhere = `/kos/a/b/v1?${'x'.repeat(10)}`;
    for (let i = 0; i < CHANGES; i += AT_ONCE) {
      const changes = Array.from({ length: AT_ONCE }, () => client.send('DELETE', nowhere));
      for (const { status } of await Promise.all(changes)) assert.equal(status, 404);
      if (i % 1000 === 0) assert.equal((await client.post(pathOf(printer), i)).object['result'], i + 1);
    }
    const lost = await lostLines();
    assert.ok(lost > 0 && lost < CHANGES, `${lost} lost`);

    child.stdout.resume();
    assert.ok(Number((await told)['lost']) >= lost);
    child.kill('SIGTERM');
    await stopped;
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});
