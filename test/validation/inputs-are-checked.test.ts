/** Calls and batches of the running service, whose inputs and results are held to the schemas of their endpoints. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../acceptance/support/client.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, serviceDescriptor, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import type { LogLine, OwnService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { theHostsService } from '../runtimes/support/the-services.ts';

const naan = uniqueNaan();
type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = ({ json }: Answer): Fields => json as Fields;
/** Knowledge objects decide. */
const service = await theHostsService();

const PATIENT = {
  type: 'object',
  required: ['age'],
  additionalProperties: false,
  properties: { age: { type: 'integer', minimum: 0 }, sex: { enum: ['f', 'm'] }, tags: { items: { type: 'string' } } },
};

interface Parts {
  readonly code?: string;
  readonly schema?: unknown;
  readonly result?: unknown;
  readonly files?: Readonly<Record<string, string>>;
}

async function active(at: OwnService, name: string, validate: string | undefined, parts: Parts = {}): Promise<Ko> {
  const deployment = {
    ...{ engine: 'javascript', artifact: 'src/index.js', function: 'run' },
    ...(validate === undefined ? {} : { validate }),
  };
  const descriptor = serviceDescriptor(`/${naan}/${name}`, '1.0', []) as Record<string, unknown>;
  const content = (schema: unknown): object => ({
    content: { 'application/json': schema === null ? {} : { schema } },
  });
  const document = {
    ...descriptor,
    openapi: '3.1.0',
    paths: {
      '/run': {
        post: {
          requestBody: content(parts.schema === undefined ? PATIENT : parts.schema),
          responses: { '200': { description: 'x', ...(parts.result === undefined ? {} : content(parts.result)) } },
        },
      },
    },
  };
  const ko = javascriptKo(parts.code ?? 'function run(input) { return input.age; }', {
    naan,
    name,
    files: {
      'service.yaml': JSON.stringify(document),
      'deployment.yaml': JSON.stringify({ '/run': { post: deployment } }),
      ...parts.files,
    },
  });
  await at.serve(ko);
  return ko;
}

const breaksOf = ({ log }: OwnService, { id }: Ko): LogLine[] =>
  log.filter(({ ko, event }) => ko === id && String(event).endsWith('-breaks-schema'));

test('an endpoint that says so refuses what breaks its schema, with each place, and runs nothing', async () => {
  const ko = await active(service, 'enforces', 'enforce', { code: 'let n = 0; function run() { return ++n; }' });
  const wrong = await service.post(pathOf(ko), { age: 1.5, sex: 'x', tags: ['a', 2], name: 'Bob Smith' });
  assert.equal(wrong.status, 400);
  const { Title, Detail } = wrong.json as Record<string, string>;
  assert.equal(Title, 'Invalid Input');
  const places = Detail?.replace(/^The input breaks the schema of .+?\/run: /, '').split('; ');
  assert.deepEqual(
    new Set(places),
    new Set([
      '/age: expected integer, came 1.5',
      '/sex: expected one of "f", "m", came "x"',
      '/tags/1: expected string, came 2',
      '/name: expected nothing, came "Bob Smith"',
    ]),
  );
  assert.equal(fieldsOf(await service.post(pathOf(ko), { age: 1 }))['result'], 1);
  assert.equal(fieldsOf(await service.post(pathOf(ko), '{"age'))['Title'], 'Http Message Not Readable');
  assert.doesNotMatch(JSON.stringify(service.log), /Bob|Smith/);
});

test('of records each is checked for itself, and the others run', async () => {
  const ko = await active(service, 'records', 'enforce');
  const body = '{"age":1}\n{"age":"x"}\n\nnot JSON\n{"age":2}\n';
  const answer = await service.send('POST', pathOf(ko), { headers: { 'content-type': 'application/x-ndjson' }, body });
  const lines = answer.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, Record<string, string>>);
  assert.deepEqual(
    lines.map(({ result, error, line }) => [result, error?.['Title'], line]),
    [
      [1, undefined, undefined],
      [undefined, 'Invalid Input', 2],
      [undefined, 'Http Message Not Readable', 4],
      [2, undefined, undefined],
    ],
  );
  assert.match(lines[1]?.['error']?.['Detail'] ?? '', /\/age: expected integer, came "x"/);
});

test('one that says log answers, and the log has one line for each place, without values', async () => {
  const ko = await active(service, 'logs', 'log', { code: 'function run() { return 7; }' });
  // On a busy machine the first may be answered without having been checked.
  while (breaksOf(service, ko).length === 0)
    for (const age of ['Bob', 'Smith', 'Eve'])
      assert.equal(fieldsOf(await service.post(pathOf(ko), { age }))['result'], 7);
  await service.post(pathOf(ko), { age: 1, 'Bob Smith': 'x' });
  await service.logged(({ ko: of, path }) => of === ko.id && path === '/*');
  assert.deepEqual(
    breaksOf(service, ko).map(({ path, expected, event, level }) => [path, expected, event, level]),
    [
      ['/age', 'integer', 'input-breaks-schema', 'warn'],
      ['/*', 'nothing', 'input-breaks-schema', 'warn'],
    ],
  );
  assert.doesNotMatch(JSON.stringify(service.log), /Bob|Smith|Eve/);
});

test('one that says nothing is not checked, nor is one without a schema', async () => {
  const silent = await active(service, 'silent', undefined);
  const without = await active(service, 'without', 'enforce', { schema: null });
  assert.equal(fieldsOf(await service.post(pathOf(silent), { age: 'x' }))['result'], 'x');
  assert.equal((await service.post(pathOf(without), { age: 1 })).status, 200);
});

test('schemas in other files are read, and a schema that cannot be used refuses calls and is named', async () => {
  const files = { 'schemas/patient.yaml': 'patient: { type: object, required: [weight] }\n' };
  const schema = { $ref: 'schemas/patient.yaml#/patient' };
  const ko = await active(service, 'files', 'enforce', { schema, files });
  assert.match(
    String(fieldsOf(await service.post(pathOf(ko), {}))['Detail']),
    /\/weight: expected a value, came nothing/,
  );
  const deep = Array.from({ length: 40 }).reduce<object>((inner) => ({ items: inner }), {});
  const huge = { allOf: [deep], enum: Array.from({ length: 25_000 }, (_, i) => i) };
  const broken = await active(service, 'huge', 'enforce', { schema: huge });
  const answer = await service.post(pathOf(broken), {});
  assert.equal(answer.status, 500);
  assert.match(
    String(fieldsOf(answer)['Detail']),
    /inputs of .+ cannot be checked.+(more than 20000 parts|more time to be made ready)/,
  );
  const line = await service.logged(({ event, ko: of }) => event === 'schema-not-checked' && of === broken.id);
  // Which of the two comes first depends on how busy the machine is.
  assert.match(String(line['reason']), /^the schema (has more than 20000 parts|takes more time to be made ready)/);
});

const endsWhatDoesNotEnd = async (): Promise<void> => {
  const half = { properties: { a: { $ref: '#/e' } } };
  const files = { 'e.yaml': JSON.stringify({ e: { oneOf: [half, { ...half, type: 'object' }] } }) };
  const ko = await active(service, 'endless', 'enforce', { schema: { $ref: 'e.yaml#/e' }, files });
  const good = await active(service, 'beside', 'enforce');
  await service.post(pathOf(good), { age: 1 });
  const deep = `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`;
  const endless = service.post(pathOf(ko), deep);
  const others = await Promise.all([1, 2, 3, 4].map(() => service.post(pathOf(good), { age: 3 })));
  assert.deepEqual(
    others.map(({ json }) => (json as Fields)['result']),
    [3, 3, 3, 3],
  );
  const refused = await endless;
  assert.equal(refused.status, 400);
  assert.match(String(fieldsOf(refused)['Detail']), /its check takes more time than it may/);
};
// The checks by themselves are tried with it in every run.
if (inRound(false, true))
  test('a check without an end costs its own endpoint, and what others send is answered', endsWhatDoesNotEnd);

test('an operator who enforces is stricter than a knowledge object, and results are logged where that is asked for', async () => {
  await using strict = await startService({ args: ['--validate-inputs', 'enforce', '--validate-outputs', 'log'] });
  const ko = await active(strict, 'off', 'off', { result: { properties: { result: { type: 'string' }, info: {} } } });
  assert.equal((await strict.post(pathOf(ko), { age: 'x' })).status, 400);
  assert.equal(fieldsOf(await strict.post(pathOf(ko), { age: 5 }))['result'], 5);
  const line = await strict.logged(({ event }) => event === 'result-breaks-schema');
  assert.deepEqual([line['path'], line['expected']], ['/', 'string']);
});
