import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { PassThrough } from 'node:stream';
import pino from 'pino';
import { OwnRuntime } from './own-runtime.ts';
import { CallTokens } from '../call-token.ts';
import { RemoteEngine } from './remote-engine.ts';

/** Its log lines as they come. */
function runtimeThat(does: string): AsyncDisposable & { engine: RemoteEngine; line: () => Promise<unknown> } {
  const lines = new PassThrough({ objectMode: true });
  const log = pino({ base: null }, { write: (line: string) => void lines.write(JSON.parse(line)) });
  const engine = new RemoteEngine('slow', {
    callTimeout: 1000,
    activationTimeout: 1000,
    maxResult: 1000,
    tokens: new CallTokens(),
    queueLimit: 1,
    log,
  });
  const runtime = new OwnRuntime({
    engine,
    command: 'sh',
    args: ['-c', does],
    env: { PATH: process.env['PATH'] ?? '' },
    handedOver: { secret: 'of this start' },
    onEnd: () => undefined,
    startLimit: 150,
    log,
  });
  return {
    engine,
    line: async () => (await once(lines, 'data'))[0] as unknown,
    [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose](),
  };
}

test('a runtime that does not listen in time is ended, says so, and is started again', async () => {
  await using runtime = runtimeThat('echo still at it >&2; exec sleep 60');
  const { engine, line } = runtime;
  for (const again of [250, 500]) {
    const { msg } = (await line()) as { msg: string };
    assert.equal(msg, 'still at it');
    const ended = (await line()) as Record<string, unknown>;
    const reason = 'it did not listen within 0.15 s';
    assert.deepEqual([ended['msg'], ended['reason'], ended['again']], ['a runtime ended', reason, again]);
    assert.equal(engine.absence, `the slow runtime ended (${reason}): still at it; it is started again`);
  }
});

test('what no environment may show comes in the first line of its input', async () => {
  await using runtime = runtimeThat('read line; echo "got $line"; exec sleep 60');
  assert.equal(((await runtime.line()) as { msg: string }).msg, 'got {"secret":"of this start"}');
});

test('one that listens in time goes on', async () => {
  await using runtime = runtimeThat(`echo '{"event": "listening", "url": "http://127.0.0.1:9"}'; sleep 0.4; echo on`);
  const [first, second] = [await runtime.line(), await runtime.line()] as { msg: string }[];
  assert.deepEqual([first?.msg, second?.msg], ['runtime started', 'on']);
  assert.equal(runtime.engine.absence, undefined);
});
