import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { PROJECT, temporaryFolder } from '../acceptance/support/service.ts';

test('a signal to npm start stops the service', async () => {
  await using shelf = await temporaryFolder();
  const args = ['start', '--', '--port', '0', '--runtimes', 'none', '--shelf', shelf.path, '--log-format', 'json'];
  const npm = spawn('npm', args, { cwd: PROJECT, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(npm, 'exit');
  let url = '';
  for await (const line of createInterface({ input: npm.stdout })) {
    url = /"event":"ready".*Overview: (http:\S+)\/"/.exec(line)?.[1] ?? '';
    if (url !== '') break;
  }
  assert.equal((await fetch(`${url}/actuator/health/liveness`)).status, 200);
  npm.kill('SIGTERM');
  await ended;
  const answers = (): Promise<boolean> =>
    fetch(`${url}/actuator/health/liveness`).then(
      () => true,
      () => false,
    );
  for (const until = Date.now() + 60_000; await answers(); await later(50))
    assert.ok(Date.now() < until, 'the service is still there');
});
