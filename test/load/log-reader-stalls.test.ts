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

const naan = uniqueNaan();
/** What the code of each may write at once is a small part of what is kept for the reader. */
const printers = Array.from({ length: 20 }, (_, i) =>
  javascriptKo(`function run(n) { for (let i = 0; i < 100; i++) console.log('x'.repeat(1000)); return n + 1; }`, {
    naan,
    name: `printer${i}`,
  }),
);
const [printer = assert.fail()] = printers;
/** Each change leaves an audit line that names all of this. */
const NOWHERE = `/kos/${'n'.repeat(250)}/${'m'.repeat(250)}/${'v'.repeat(250)}`;
/** More than are kept for the reader, however short their lines are. */
const MAX_CHANGES = 50_000;
const AT_ONCE = 100;

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
    await client.serve(...printers);
    assert.equal(await lostLines(), 0);

    child.stdout.pause();
    const change = async (): Promise<void> => {
      const changes = Array.from({ length: AT_ONCE }, () => client.send('DELETE', NOWHERE));
      for (const { status } of await Promise.all(changes)) assert.equal(status, 404);
    };
    const call = async (n: number): Promise<void> =>
      assert.equal((await client.post(pathOf(printer), n)).object['result'], n + 1);
    await Promise.all(printers.map((each) => client.post(pathOf(each), 0)));
    let changes = 0;
    for (; (await lostLines()) === 0; changes += AT_ONCE) {
      assert.ok(changes < MAX_CHANGES, 'lines beyond what is kept are lost');
      await change();
      await call(changes);
    }
    assert.ok(changes > AT_ONCE, 'what is kept goes first');
    const before = await lostLines();
    await change();
    await call(changes);
    const lost = await lostLines();
    // Where a longer line was the first that had no room, a shorter one may still have.
    assert.ok(lost > before, `${lost} lines are lost, before ${before}`);

    child.stdout.resume();
    assert.ok(Number((await told)['lost']) >= lost);
    child.kill('SIGTERM');
    await stopped;
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  } finally {
    child.kill('SIGKILL');
  }
});
