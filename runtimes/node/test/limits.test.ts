import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { TestActivator } from './activator.ts';
import { gone, TestRuntime, type Reply } from './runtime.ts';

const code = `
const { existsSync } = require('node:fs');
const { tmpdir } = require('node:os');
let kept = [];
const started = [];
let running = 0;
let most = 0;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
module.exports = (input) => ({
  echo: () => input.value,
  pid: () => process.pid,
  together: async () => {
    most = Math.max(most, ++running);
    while (most < 4) await wait(5);
    await wait(input.ms);
    running -= 1;
    return most;
  },
  slow: async () => { started.push(input.value); await wait(input.ms); return input.value; },
  started: () => started,
  spin: () => { for (;;); },
  busy: () => { const end = Date.now() + input.ms; while (Date.now() < end); return input.value; },
  folder: () => tmpdir(),
  until: () => {
    while (!existsSync(tmpdir() + '/' + input.file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    return input.value;
  },
  never: () => new Promise(() => {}),
  exit: () => process.exit(7),
  abort: () => process.abort(),
  heap: () => { for (;;) kept.push(new Array(1000).fill(Math.random())); },
  buffers: async () => { for (;;) { kept.push(Buffer.alloc(20e6, 1)); await wait(1); } },
  large: () => 'x'.repeat(input.size),
  print: () => { for (let i = 0; i < input.lines; i++) console.log('line ' + i); return 'printed'; },
  longLine: () => { console.error('y'.repeat(1e6)); return 'printed'; },
})[input.do]();
`;

const uri = 'limits/ko/1.0/run';
const other = 'other/ko/1.0/run';

describe('limits of calls and the faults of knowledge objects', () => {
  let activator: TestActivator;
  let runtime: TestRuntime;
  const run = (input: object, headers = {}): Promise<Reply> => runtime.post(uri, input, headers);
  /** Once it had a turn, which a busy machine may not give it in that time. */
  const ran = async (input: object, deadlineMs: number): Promise<Reply> => {
    for (let tries = 0; ; tries++) {
      const reply = await run(input, { 'x-kgrid-deadline-ms': String(deadlineMs) });
      if (reply.status !== 503 || tries === 50) return reply;
    }
  };
  const described = async (reply: Promise<Reply>): Promise<[number, unknown]> => {
    const { status, body } = await reply;
    return [status, body['description']];
  };
  const result = async (reply: Promise<Reply>): Promise<unknown> => (await reply).body['result'];

  before(async () => {
    activator = await TestActivator.start();
    runtime = await TestRuntime.start(activator, {
      KGRID_NODE_EXECUTION_TIMEOUT: '20',
      KGRID_NODE_MEMORY_LIMIT: '64',
      KGRID_NODE_CONCURRENCY: '4',
      KGRID_NODE_QUEUE: '2',
      KGRID_NODE_OUTPUT_LIMIT: '0.1',
      KGRID_NODE_BODY_LIMIT: '0.2',
    });
    await runtime.activate({ uri: other, ko: 'other/ko/v1', files: { 'src/index.js': code } });
  });
  beforeEach(async () => {
    const { status, body } = await runtime.activate({ uri, ko: 'limits/ko/v1', files: { 'src/index.js': code } });
    assert.equal(status, 200, JSON.stringify(body));
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  it('ends a call that never settles, and no other of its worker', async () => {
    const never = ran({ do: 'never' }, 400);
    const slow = run({ do: 'slow', ms: 900, value: 'kept' });
    assert.deepEqual(await described(never), [500, 'The call passed its time limit of 0.38 s']);
    assert.equal(await result(slow), 'kept');
    assert.equal(await result(run({ do: 'echo', value: 1 })), 1);
  });

  it('ends a call that keeps its worker busy; what had not begun runs in another worker', async () => {
    const first = await result(run({ do: 'pid' }));
    const begun = run({ do: 'slow', ms: 19_000, value: 'begun' });
    await result(run({ do: 'echo' }));
    const spin = ran({ do: 'spin' }, 2000);
    const late = Promise.all([1, 2].map((value) => result(run({ do: 'echo', value }))));
    assert.deepEqual(await described(spin), [500, 'The call passed its time limit of 1.9 s']);
    assert.deepEqual(await late, [1, 2]);
    assert.deepEqual(await described(begun), [
      500,
      'The call was in one process with another that passed its time limit and kept it busy',
    ]);
    await gone(Number(first));
    assert.notEqual(await result(run({ do: 'pid' })), first);
  });

  it('moves calls away from a worker that is busy for long, and lets the busy call end', async () => {
    const folder = String(await result(run({ do: 'folder' })));
    const busy = run({ do: 'until', file: 'go', value: 'done' });
    assert.equal(await result(run({ do: 'echo', value: 'moved' })), 'moved');
    await writeFile(join(folder, 'go'), '');
    assert.equal(await result(busy), 'done');
  });

  it('gives the answers before a call that keeps the worker busy', async () => {
    await result(run({ do: 'echo' }));
    const statuses = await runtime.pipeline(uri, [
      [{ do: 'busy', ms: 300 }, 5_000],
      [{ do: 'echo' }, 5_000],
      [{ do: 'echo' }, 5_000],
      [{ do: 'spin' }, 800],
    ]);
    assert.deepEqual(statuses, [200, 200, 200, 500]);
  });

  it('bounds results and inputs', async () => {
    assert.deepEqual(await described(run({ do: 'large', size: 99_000 })), [200, undefined]);
    assert.deepEqual(await described(run({ do: 'large', size: 100_000 })), [
      500,
      'The result is larger than the limit of 0.1 MB',
    ]);
    assert.equal(await result(run({ do: 'echo', value: 1, pad: 'x'.repeat(190_000) })), 1);
    assert.deepEqual(await described(run({ do: 'echo', pad: 'x'.repeat(200_000) })), [
      413,
      'The body is larger than the limit of 0.2 MB',
    ]);
  });

  it('runs calls at the same time up to a limit, lets some wait, and refuses the rest', async () => {
    await result(run({ do: 'echo' }));
    const replies = await Promise.all(Array.from({ length: 8 }, () => run({ do: 'together', ms: 1500 })));
    const refused = replies.filter(({ status }) => status === 503);
    assert.equal(refused.length, 2);
    assert.equal(refused[0]?.headers.get('retry-after'), '1');
    assert.equal(refused[0]?.body['description'], 'limits/ko/v1 has 2 calls waiting already');
    const answered = replies.filter(({ status }) => status === 200).map(({ body }) => body['result']);
    assert.deepEqual(answered, [4, 4, 4, 4, 4, 4]);
  });

  it('gives up a call that waited for its whole time', async () => {
    await result(run({ do: 'echo' }));
    const slow = Array.from({ length: 4 }, () => run({ do: 'slow', ms: 1500 }));
    const waiting = run({ do: 'echo' }, { 'x-kgrid-deadline-ms': '300' });
    assert.deepEqual(await described(waiting), [503, 'limits/ko/v1 was busy for the 0.29 s that the call could wait']);
    assert.ok((await Promise.all(slow)).every(({ status }) => status === 200));
  });
});

describe('a worker that has nothing to do', () => {
  it('is stopped, and started again by the next call', async () => {
    await using activator = await TestActivator.start();
    await using runtime = await TestRuntime.start(activator, { KGRID_NODE_IDLE_TIMEOUT: '0.3' });
    await runtime.activate({ uri, files: { 'src/index.js': code } });
    const { body } = await runtime.post(uri, { do: 'pid' });
    await gone(Number(body['result']));
    assert.equal((await runtime.post(uri, { do: 'echo', value: 1 })).body['result'], 1);
  });

  it('is stopped where others that are idle too were used later', async () => {
    await using activator = await TestActivator.start();
    await using runtime = await TestRuntime.start(activator, { KGRID_NODE_IDLE_WORKERS: '1' });
    const pids: number[] = [];
    for (const name of ['one', 'two']) {
      await runtime.activate({ uri: `idle/${name}/1.0/run`, ko: `idle/${name}/v1`, files: { 'src/index.js': code } });
      pids.push(Number((await runtime.post(`idle/${name}/1.0/run`, { do: 'pid' })).body['result']));
    }
    await gone(pids[0] ?? 0);
    assert.deepEqual(await runtime.workers(), [pids[1]]);
  });
});
