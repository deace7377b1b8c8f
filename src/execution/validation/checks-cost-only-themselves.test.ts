import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SchemaChecks } from './schema-checks.ts';
import type { KnownSchema } from './schema-checks.ts';

const serviceOf = (schema: unknown): string =>
  JSON.stringify({
    openapi: '3.1.0',
    paths: { '/run': { post: { requestBody: { content: { 'application/json': { schema } } } } } },
  });

interface Notes {
  readonly notes: readonly string[];
  readonly failure: string | undefined;
}

function schemaOf(checks: SchemaChecks, schema: unknown, told: Notes[] = []): KnownSchema {
  const bytes = Buffer.from(serviceOf(schema));
  return checks.schema({
    question: { file: 's.yaml', path: '/run', method: 'post', part: { of: 'request', mediaType: 'application/json' } },
    size: (path) => Promise.resolve(path === 's.yaml' ? bytes.length : undefined),
    read: () => Promise.resolve(bytes),
    onNotes: (notes, failure) => told.push({ notes, failure }),
  });
}

/** Takes twice as long for each level of a value. */
const exploding = (checks: SchemaChecks, told: Notes[] = []): KnownSchema => {
  const half = { properties: { a: { $ref: '#/components/schemas/e' } } };
  const text = JSON.stringify({
    openapi: '3.1.0',
    paths: {
      '/run': {
        post: { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/e' } } } } },
      },
    },
    components: { schemas: { e: { oneOf: [half, { ...half, type: 'object' }] } } },
  });
  return checks.schema({
    question: { file: 's.yaml', path: '/run', method: 'post', part: { of: 'request', mediaType: 'application/json' } },
    size: (path) => Promise.resolve(path === 's.yaml' ? text.length : undefined),
    read: () => Promise.resolve(Buffer.from(text)),
    onNotes: (notes, failure) => told.push({ notes, failure }),
  });
};
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test('a check that takes too long costs itself: others that came with it are decided', async () => {
  await using checks = new SchemaChecks({ quick: { timeout: 300 }, slow: { timeout: 600 } });
  const good = schemaOf(checks, { type: 'number' });
  const bad = exploding(checks);
  const [first] = await Promise.all([checks.check(good, ['1', '"x"'], 'a'), checks.check(bad, ['1'], 'b')]);
  assert.equal(first.kind === 'checked' && first.outcomes[0], null);
  const all = await Promise.all([
    checks.check(good, ['1'], 'a'),
    checks.check(bad, [deep(60)], 'b'),
    checks.check(good, ['"x"', '2'], 'c'),
  ]);
  const outcomes = all.flatMap((each) => (each.kind === 'checked' ? each.outcomes : [each.kind]));
  assert.deepEqual(
    outcomes.map((each) => (typeof each === 'object' ? each?.told.length : each)),
    [undefined, 'its check takes more time than it may', 1, undefined],
  );
  assert.ok(bad.slowUntil > 0);
});

test('a schema that is too much says why once, and is not tried again', async () => {
  // Its parts are counted before its time is up, on a busy machine too.
  await using checks = new SchemaChecks({ quick: { timeout: 120_000 }, slow: { timeout: 120_000 } });
  const told: Notes[] = [];
  const properties = Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`p${i}`, {}]));
  const schema = schemaOf(checks, { properties }, told);
  const results = await Promise.all([1, 2, 3].map(() => checks.check(schema, ['1'], 'a')));
  assert.deepEqual(new Set(results.map(({ kind }) => kind)), new Set(['failed']));
  assert.equal((await checks.check(schema, ['1'], 'a')).kind, 'failed');
  assert.deepEqual(told, [{ notes: [], failure: 'the schema has more than 20000 parts' }]);
});

test('a schema that takes too much memory fails, and others go on', async () => {
  // On a busy machine both may have to wait for their turn.
  const patient = { memory: 24, wait: 120_000 };
  await using checks = new SchemaChecks({ quick: patient, slow: { ...patient, timeout: 20_000 } });
  const properties = Object.fromEntries(
    Array.from({ length: 9000 }, (_, i) => [`p${i}`, { enum: [i, 'x'.repeat(50)] }]),
  );
  const large = schemaOf(checks, { properties });
  const good = schemaOf(checks, { type: 'number' });
  const [failed, checked] = await Promise.all([checks.check(large, ['{}'], 'a'), checks.check(good, ['1'], 'b')]);
  assert.equal(failed.kind, 'failed');
  assert.deepEqual(checked, { kind: 'checked', outcomes: [null] });
});

test('no schema, no JSON and deep values', async () => {
  await using checks = new SchemaChecks();
  assert.deepEqual(await checks.check(schemaOf(checks, undefined), ['1'], 'a'), { kind: 'none' });
  const tree = exploding(checks);
  const [, outcome] = [
    tree,
    await checks.check(
      schemaOf(checks, { items: true, uniqueItems: true }),
      ['{', `[${'['.repeat(20_000)}${']'.repeat(20_000)}]`],
      'a',
    ),
  ];
  assert.deepEqual(outcome, { kind: 'checked', outcomes: [null, 'it is nested too deeply'] });
});

test('the main thread works on while a large value is checked', async () => {
  await using checks = new SchemaChecks();
  const schema = schemaOf(checks, { items: { type: 'object', required: ['a'] } });
  await checks.check(schema, ['[]'], 'a');
  const text = JSON.stringify(Array.from({ length: 150_000 }, (_, a) => ({ a })));
  const start = process.threadCpuUsage();
  const checked = await checks.check(schema, [text], 'a');
  const { user, system } = process.threadCpuUsage(start);
  assert.deepEqual(checked, { kind: 'checked', outcomes: [null] });
  const here = process.threadCpuUsage();
  JSON.parse(text);
  const parse = process.threadCpuUsage(here);
  assert.ok(user + system < parse.user + parse.system, `${user + system} µs`);
});
