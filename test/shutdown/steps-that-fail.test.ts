/** What goes wrong while the service stops is logged, and what else has to end ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { LogLine } from '../acceptance/support/service.ts';

const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
const PROGRAM = `
  import Fastify from 'fastify';
  import { createLog } from ${source('lib/log.ts')};
  import { disposeAll } from ${source('lib/dispose.ts')};
  import { Lifecycle } from ${source('lifecycle.ts')};
  import { Output } from ${source('lib/output.ts')};
  import { Shutdown } from ${source('shutdown.ts')};
  const output = new Output(1);
  const log = createLog({ level: 'info', format: 'json' }, output);
  const server = Fastify();
  server.addHook('onClose', () => Promise.reject(new Error('a hook of the server')));
  await server.listen({ port: 0, host: '127.0.0.1' });
  const owned = (name, fails) => ({
    async [Symbol.asyncDispose]() {
      await null;
      if (fails) throw new Error(name);
      log.info({ ended: name });
    },
  });
  const all = new AsyncDisposableStack();
  all.use(owned('the shelf'));
  all.defer(() => Promise.reject('what is no error'));
  all.defer(() => disposeAll([owned('a runtime', true), owned('another runtime')]));
  all.defer(() => { throw new Error('the activator'); });
  all.defer(() => server.close());
  new Shutdown({ drain: 0, shutdownGrace: 1000 }, new Lifecycle(), log, false).watch({ server, [Symbol.asyncDispose]: () => all.disposeAsync() });
  log.info({ event: 'listening' });
  process.on('exit', () => output.flush());`;

test('a step of the stop that fails is logged, those after it are taken, and the exit code is 1', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: import.meta.dirname,
  });
  const ended = once(child, 'close');
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const log: LogLine[] = [];
  for await (const text of createInterface({ input: child.stdout })) {
    log.push(JSON.parse(text) as LogLine);
    if (log.length === 1) child.kill('SIGTERM');
  }
  assert.deepEqual(await ended, [1, null], stderr);
  assert.equal(stderr, '');
  const errors = log
    .filter(({ level }) => level === 'error')
    .map(({ err }) => (err as { message?: string }).message ?? err);
  assert.deepEqual(errors, ['a hook of the server', 'the activator', 'a runtime', 'what is no error']);
  assert.deepEqual(
    log.flatMap(({ ended }) => ended ?? []),
    ['another runtime', 'the shelf'],
  );
  assert.equal(log.at(-1)?.['event'], 'stopped');
});
