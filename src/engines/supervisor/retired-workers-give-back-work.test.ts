/** A worker that is retired while its program starts gives back what it was given, however late it says so. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { realClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Command } from './process.ts';
import { workerPolicy } from './worker-policy.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const run = promisify(execFile);
const KO = 'naan/retired/v1';
const CODES = {
  node: 'export const run = (input) => [process.pid, input];',
  python: 'import os\ndef run(input):\n    return [os.getpid(), input]\n',
};

interface Gate extends AsyncDisposable {
  /** The first worker waits at it; those after it do not. */
  readonly command: (command: Command) => Command;
  open(): Promise<void>;
}

async function gate(): Promise<Gate> {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-gate-'));
  const fifo = join(folder, 'gate');
  await run('mkfifo', [fifo]);
  let started = 0;
  return {
    command: (command) =>
      started++ > 0
        ? command
        : {
            ...command,
            program: '/bin/sh',
            args: ['-c', 'read line < "$0"; exec "$@"', fifo, command.program, ...command.args],
          },
    open: () => writeFile(fifo, 'open\n'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

for (const engine of ['node', 'python'] as const) {
  test(`loads and calls of a worker that is retired while it starts are answered by the next: ${engine}`, async () => {
    await using held = await gate();
    const givenUp: (() => void)[] = [];
    const clock: Clock = {
      ...realClock,
      after: (milliseconds, action) => {
        if (milliseconds === workerPolicy.drainMs) givenUp.push(action);
        else realClock.after(milliseconds, action);
      },
    };
    await using networked = await networkedPool({ engine, clock, command: held.command });
    const one = await networked.define(KO, CODES[engine]);
    const given = [one.load(), one.call('first'), one.call('second')];
    // What the first worker may not read retires it.
    const two = await networked.define(KO, CODES[engine], [tmpdir()]);
    assert.equal(givenUp.length, 1);
    for (const giveUp of givenUp) giveUp();
    assert.equal(await two.load(), '');
    const [pid] = (await two.call('other')) as [number];
    await held.open();
    const [problem, ...results] = await Promise.all(given);
    assert.equal(problem, '');
    for (const [at, result] of results.entries()) {
      const [by, input] = result as [number, string];
      assert.equal(input, ['first', 'second'][at]);
      assert.ok(by > 0);
    }
    assert.equal(((await one.call('later')) as [number])[0], pid);
  });

  test(`a worker that starts takes a further endpoint of its knowledge object: ${engine}`, async () => {
    await using held = await gate();
    await using networked = await networkedPool({ engine, command: held.command });
    const one = await networked.define(KO, CODES[engine]);
    const first = one.load();
    const two = await networked.define(KO, CODES[engine]);
    const second = two.load();
    assert.equal(networked.pool.workerCount, 1);
    await held.open();
    assert.deepEqual(await Promise.all([first, second]), ['', '']);
    const [[by], [other]] = (await Promise.all([one.call(1), two.call(2)])) as [[number], [number]];
    assert.equal(by, other);
  });
}
