import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { ServiceError } from '../../lib/errors.ts';
import { BackgroundReader } from './background-reader.ts';
import { parseDeployment } from './deployment.ts';
import type { Deployment } from './deployment.ts';
import { parseService } from './service.ts';

const ones = (count: number): string => `a: [${'1,'.repeat(count)}1]\n`;
/** More than is read without a thread. */
const ONES = ones(20_000);
const HEAD = 'info: {version: "1.0"}\nservers: [{url: /a/b}]\npaths: {/c: {post: {operationId: c}}}\n';
const SERVICE = HEAD + ONES;
const ENDPOINT = '/c: {post: {engine: javascript, artifact: c.js, function: c}}\n';

/** The threads that were begun meanwhile. */
async function threadsOf(work: () => Promise<unknown>): Promise<Worker[]> {
  const threads: Worker[] = [];
  const see = (thread: Worker): void => void threads.push(thread);
  process.on('worker', see);
  try {
    await work();
  } finally {
    process.off('worker', see);
  }
  return threads;
}

/** Microseconds of the processor that this thread takes. */
async function costOf(work: () => unknown): Promise<number> {
  const start = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(start);
  return user + system;
}

const refuses = (work: Promise<unknown>, words: RegExp): Promise<void> =>
  assert.rejects(work, (thrown) => {
    assert.ok(thrown instanceof ServiceError, String(thrown));
    assert.equal(thrown.code, 'import-refused');
    assert.match(thrown.message, words);
    return true;
  });

test('what a thread reads is what is read here, and costs this thread little', async () => {
  await using reader = new BackgroundReader();
  const deployment = ENDPOINT + ONES;
  assert.deepEqual(await reader.deployment(deployment, 'd.yaml'), parseDeployment(deployment, 'd.yaml'));
  assert.deepEqual(await reader.service(SERVICE, 's.yaml'), parseService(SERVICE, 's.yaml'));
  const large = HEAD + ones(100_000);
  const here = await costOf(() => parseService(large, 's.yaml'));
  const there = await costOf(() => reader.service(large, 's.yaml'));
  assert.ok(there < here / 4, `${there} µs instead of ${here}`);
});

test('what is small is read at once, without a thread', async () => {
  await using reader = new BackgroundReader();
  const threads = await threadsOf(() => reader.deployment(ENDPOINT, 'd.yaml'));
  assert.equal(threads.length, 0);
});

test('many small ones are read by one thread, each as if it were alone', async () => {
  const broken = 'a: [';
  await using reader = new BackgroundReader();
  const texts = [...Array.from({ length: 200 }, (_, i) => `${ENDPOINT}# ${String(i)}\n`), broken, ENDPOINT];
  let results: PromiseSettledResult<Deployment>[] = [];
  const threads = await threadsOf(async () => {
    results = await Promise.allSettled(texts.map((text, i) => reader.ofMany.deployment(text, `${String(i)}.yaml`)));
  });
  assert.equal(threads.length, 1);
  for (const [i, text] of texts.entries()) {
    const [result, file] = [results[i], `${String(i)}.yaml`];
    if (text === broken)
      assert.match(String(result?.status === 'rejected' && result.reason), /200\.yaml is not valid YAML/);
    else assert.deepEqual(result, { status: 'fulfilled', value: parseDeployment(text, file) });
  }
});

test('of many that pass a limit together each has its own', async () => {
  await using reader = new BackgroundReader({ memory: 24 });
  const much = `/c: {post: {engine: node, artifact: c, x: [${'"y",'.repeat(900)}]}}\n`;
  const read = Array.from({ length: 60 }, (_, i) => reader.ofMany.deployment(much, `${String(i)}.yaml`));
  assert.equal((await Promise.all(read)).filter(({ endpoints }) => endpoints.size === 1).length, read.length);
});

test('a small text with anchors, which may describe a huge one, is left to the thread', async () => {
  await using reader = new BackgroundReader();
  const bomb = `a: &a [${'1,'.repeat(400)}]\n/c: {post: {engine: node, artifact: c, x: [${'*a,'.repeat(3000)}]}}\n`;
  const threads = await threadsOf(() => refuses(reader.deployment(bomb, 'd.yaml'), /d\.yaml .*(too often|too much)/));
  assert.equal(threads.length, 1);
});

test('a refusal names the file, the line and the reason', async () => {
  await using reader = new BackgroundReader();
  await assert.rejects(reader.service(`${ONES}b: [`, 's.yaml'), (thrown) => {
    assert.ok(thrown instanceof ServiceError);
    const here = (() => {
      try {
        return parseService(`${ONES}b: [`, 's.yaml');
      } catch (same) {
        return same as ServiceError;
      }
    })() as ServiceError;
    assert.deepEqual([thrown.message, thrown.problems], [here.message, here.problems]);
    return true;
  });
});

test('what takes too long is refused, and the next is read', async () => {
  await using reader = new BackgroundReader({ timeout: 1 });
  await refuses(reader.service(SERVICE, 's.yaml'), /^s\.yaml cannot be read within 0\.001 s: make it smaller$/);
  await using patient = new BackgroundReader();
  const results = await Promise.allSettled([
    patient.service(`${ONES}b: [`, 's.yaml'),
    patient.service(SERVICE, 's.yaml'),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
});

test('what needs too much memory is refused, and the next is read', async () => {
  await using reader = new BackgroundReader({ memory: 24 });
  const large = `a: [${'1,'.repeat(550_000)}1]\n`;
  await refuses(reader.service(large, 's.yaml'), /^s\.yaml needs more than 24 MB to be read: make it smaller$/);
  const deployment = `${ENDPOINT}${'a: 1\n'.repeat(2100)}`;
  assert.equal((await reader.deployment(deployment, 'd.yaml')).endpoints.size, 1);
});

test('what gives too much is refused', async () => {
  await using reader = new BackgroundReader();
  const much = `/c: {post: {engine: node, artifact: c, function: "${'x'.repeat(2 ** 20)}"}}\n`;
  await refuses(reader.deployment(much, 'd.yaml'), /^d\.yaml describes too much for one knowledge object/);
});

test('a thread without work is given back, and another is begun when there is work', async () => {
  await using reader = new BackgroundReader({ idle: 1 });
  const [thread] = await threadsOf(() => reader.service(SERVICE, 's.yaml'));
  assert.ok(thread !== undefined);
  if (thread.threadId !== -1) await once(thread, 'exit');
  const again = await threadsOf(() => reader.service(SERVICE, 's.yaml'));
  assert.equal(again.length, 1);
});
