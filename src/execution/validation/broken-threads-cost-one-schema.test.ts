import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { ServiceError } from '../../lib/errors.ts';
import { SchemaChecks } from './schema-checks.ts';
import type { KnownSchema } from './schema-checks.ts';

const program = new URL('../../../test/support/validation/ending-thread.ts', import.meta.url);
const ending = (): SchemaChecks => new SchemaChecks({ quick: { program }, slow: { program } });
const REFUSED = { kind: 'failed', reason: 'checks by it ended the thread that checks, twice' };

function schemaOf(checks: SchemaChecks, file: string, told: (string | undefined)[] = []): KnownSchema {
  const schema = { type: 'string' };
  const bytes = Buffer.from(
    JSON.stringify({
      openapi: '3.1.0',
      paths: { '/run': { post: { requestBody: { content: { 'application/json': { schema } } } } } },
    }),
  );
  return checks.schema({
    question: { file, path: '/run', method: 'post', part: { of: 'request', mediaType: 'application/json' } },
    size: (path) => Promise.resolve(path === file ? bytes.length : undefined),
    read: () => Promise.resolve(bytes),
    onNotes: (_notes, failure) => told.push(failure),
  });
}

test('a schema whose check ends the thread twice is refused and says why, and those beside it are decided', async () => {
  await using checks = ending();
  const told: (string | undefined)[] = [];
  const [good, bad] = [schemaOf(checks, 'good.yaml'), schemaOf(checks, 'bad.yaml', told)];
  await Promise.all([checks.check(good, ['"x"'], 'a'), checks.check(bad, ['"x"'], 'b')]);
  const [before, refused, after] = await Promise.all([
    checks.check(good, ['"x"'], 'a'),
    checks.check(bad, ['"end"'], 'b'),
    checks.check(good, ['1'], 'c'),
  ]);
  assert.deepEqual(before, { kind: 'checked', outcomes: [null] });
  assert.ok(after.kind === 'checked' && typeof after.outcomes[0] === 'object' && after.outcomes[0] !== null);
  assert.deepEqual(refused, REFUSED);
  assert.deepEqual(await checks.check(bad, ['"x"'], 'b'), REFUSED);
  assert.deepEqual(told, [REFUSED.reason]);
  assert.deepEqual(await checks.check(good, ['"x"'], 'a'), { kind: 'checked', outcomes: [null] });
});

test('so is one that ends the thread while it is made ready', async () => {
  await using checks = ending();
  const told: (string | undefined)[] = [];
  const [good, bad] = [schemaOf(checks, 'good.yaml'), schemaOf(checks, 'end.yaml', told)];
  const both = await Promise.all([checks.check(bad, ['"x"'], 'b'), checks.check(good, ['"x"'], 'a')]);
  assert.deepEqual(both, [REFUSED, { kind: 'checked', outcomes: [null] }]);
  assert.deepEqual(told, [REFUSED.reason]);
});

test('a thread that ended once is started again, and the schema in it is tried again', async () => {
  await using folder = await temporaryFolder();
  await using checks = ending();
  const schema = schemaOf(checks, 'good.yaml');
  await checks.check(schema, ['"x"'], 'a');
  const path = join(folder.path, 'ended');
  assert.deepEqual(await checks.check(schema, [`"once ${path}"`], 'a'), { kind: 'checked', outcomes: [null] });
  assert.ok(existsSync(path));
});

test('where no thread can be started the call is told to try again, and no schema is refused', async () => {
  const missing = new URL('./missing.ts', import.meta.url);
  await using checks = new SchemaChecks({ quick: { program: missing }, slow: { program: missing } });
  const schema = schemaOf(checks, 'good.yaml');
  for (let i = 0; i < 3; i++)
    await assert.rejects(
      checks.check(schema, ['"x"'], 'a'),
      (thrown) => thrown instanceof ServiceError && thrown.status === 503,
    );
  assert.equal(schema.state.kind, 'new');
});
