import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/runtimes/support/until.ts';
import { TestJavascript } from '../../../test/support/javascript.ts';
import { NO_WALLS } from '../../confinement/walls.ts';
import { ServiceError } from '../../lib/errors.ts';

const LIMIT = 2000;
const SPIN = 'function run(how) { if (how === "spin") for (;;); return how; }';
const NO_TURN = 'no sandbox was free for a/b/1.0/run within 2 s; try again later';
const TOO_LONG = 'Code execution error: no result within the limit of 2 s (--execution-timeout)';

interface Outcome {
  readonly message: string;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((thrown: unknown) => {
    assert.ok(thrown instanceof ServiceError);
    return { message: thrown.message, status: thrown.status, retryAfter: thrown.headers['retry-after'] };
  });

test('of many calls that never end those that had a turn hear of the limit, and the others that none was free', async () => {
  await using javascript = new TestJavascript({ executionTimeout: LIMIT });
  const executor = await javascript.activate(SPIN);
  const count = 6 * availableParallelism() + 10;
  const outcomes = await Promise.all(Array.from({ length: count }, () => outcomeOf(javascript.call(executor, 'spin'))));
  const late = { message: NO_TURN, status: 503, retryAfter: '1' };
  const slow = { message: TOO_LONG, status: 500, retryAfter: undefined };
  for (const outcome of outcomes) {
    const expected = (outcome as Outcome).status === 503 ? late : slow;
    assert.deepEqual(outcome, expected);
  }
  const turns = outcomes.filter((outcome) => (outcome as Outcome).status === 500).length;
  assert.ok(turns > 0 && turns < count, `${turns} of ${count} had a turn`);
});

test('the limit of a call begins with its turn: one that had to wait has all of it', async () => {
  await using javascript = new TestJavascript({ executionTimeout: 3000 });
  const executor = await javascript.activate(
    'function run({ ms }) { const end = Date.now() + ms; while (Date.now() < end); return ms; }',
  );
  // Of one caller, large bodies have one process: the second would pass the limit if it began when it came.
  const call = (ms: number): Promise<unknown> => javascript.call(executor, { ms, padding: 'x'.repeat(100_000) });
  await until('the process is there', () => call(1).catch(() => undefined));
  assert.deepEqual(await Promise.all([call(1550), call(1550)]), [1550, 1550]);
});

test('where sandboxes come up late, calls that waited in vain are told to come again, and the first in time is answered', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-late-'));
  const program = join(folder, 'node');
  const node = process.execPath;
  // What makes it late is no program that a sandbox may start.
  await using javascript = new TestJavascript({ executionTimeout: LIMIT, kernel: NO_WALLS });
  const executor = await javascript.activate(SPIN);
  const isAnswered = async (): Promise<true | undefined> =>
    (await outcomeOf(javascript.call(executor, 'fine'))) === 'fine' || undefined;
  try {
    await until('a sandbox is up', isAnswered);
    // From now on a sandbox that is started needs longer than a call is patient.
    await writeFile(program, `#!/bin/sh\nsleep 6\nexec ${node} "$@"\n`);
    await chmod(program, 0o755);
    process.execPath = program;
    const first = outcomeOf(javascript.call(executor, 'spin'));
    // It is found at fault, and the process that would take the next one is not there.
    await until('it is set aside', () => javascript.engine.info()['quarantined'] === 1 || undefined);
    const second = outcomeOf(javascript.call(executor, 'spin'));
    assert.equal(((await first) as Outcome).message, TOO_LONG);
    assert.deepEqual(await second, { message: NO_TURN, status: 503, retryAfter: '1' });
    // Those that start now come after others on a busy machine.
    await until('a sandbox is up', isAnswered, 240_000);
  } finally {
    process.execPath = node;
    await rm(folder, { recursive: true });
  }
});
