/** What forms need of endpoints, for the pages: `GET /doc/forms/{naan}/{name}/{version}`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './support/client.ts';
import { javascriptKo, ko, resourceKo, uniqueNaan } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const naan = uniqueNaan();
const DEPLOYED = { artifact: 'src/index.js', engine: 'javascript', function: 'run' };
const CODE = { 'src/index.js': 'function run(input) { return input; }' };

interface Form extends JsonObject {
  readonly schema: { $defs: Record<string, JsonObject> } & JsonObject;
  readonly examples: JsonObject[];
}

async function formsOf({ id }: Ko): Promise<Form[]> {
  const { status, list, text } = await service.get(`/doc/forms/${id}`);
  assert.equal(status, 200, text);
  return list as Form[];
}

/** A service descriptor whose operations have these bodies, with more beside `paths`. */
const descriptor = (name: string, bodies: Record<string, unknown>, more: object = {}): string =>
  JSON.stringify({
    openapi: '3.0.2',
    info: { title: name, version: '1.0' },
    servers: [{ url: `/${naan}/${name}` }],
    paths: Object.fromEntries(
      Object.entries(bodies).map(([path, body]) => [
        path,
        {
          post: {
            summary: ' Says it ',
            requestBody: body,
            responses: {
              200: { description: 'ok', content: { 'application/json': { schema: { type: 'string' } } } },
            },
          },
        },
      ]),
    ),
    ...more,
  });

const withBodies = (name: string, bodies: Record<string, unknown>, more: object = {}, files = {}): Ko =>
  ko({
    ...{ naan, name },
    endpoints: Object.keys(bodies).map((path) => ({ path, consumes: ['application/json'], deployment: DEPLOYED })),
    files: { ...CODE, ...files, 'service.yaml': descriptor(name, bodies, more) },
  });

const jsonBody = (schema: unknown, more: object = {}): object => ({
  content: { 'application/json': { schema, ...more } },
});

test('an endpoint has its schema in words of today with all that it refers to, and its examples', async () => {
  const patient = {
    type: 'object',
    required: ['age', 'id'],
    properties: {
      age: { type: 'integer', title: 'Age', minimum: 0, exclusiveMinimum: true, example: 50 },
      id: { type: 'string', readOnly: true },
      sex: { type: 'string', nullable: true, enum: ['f', 'm'], default: 'f', 'x-own': 1 },
      parent: { $ref: '#/components/schemas/Patient' },
      unit: { $ref: 'schemas/units.yaml#/Unit' },
      far: { $ref: 'https://schemas.invalid/x.json' },
      __proto__: { type: 'string' },
    },
  };
  const asked = withBodies(
    'asked',
    {
      '/run': jsonBody(
        { $ref: '#/components/schemas/Patient' },
        {
          example: { age: 1 },
          examples: {
            old: { summary: 'Very old', value: { age: 99 } },
            shared: { $ref: '#/components/examples/Shared' },
          },
        },
      ),
    },
    { components: { schemas: { Patient: patient }, examples: { Shared: { value: { age: 7 } } } } },
    {
      'schemas/units.yaml': 'Unit: { type: string, description: "<b>kg</b>" }\n',
      'worked-examples.yaml':
        '- { name: W, source: A book, endpoint: /run, input: { age: 2 }, expect: { age: 2 }, tolerance: 0.5 }\n' +
        '- { name: E, endpoint: /run, input: {}, expectError: no age }\n- { name: Other, endpoint: /else, input: 1, expect: 1 }\n',
    },
  );
  await service.serve(asked);
  const [{ schema, examples, ...form } = {} as Form] = await formsOf(asked);
  assert.deepEqual(form, {
    endpoint: `${naan}/asked/1.0/run`,
    name: 'run',
    method: 'post',
    engine: 'javascript',
    status: 'ACTIVATED',
    contentTypes: ['application/json'],
    summary: 'Says it',
    responseSchema: { type: 'string' },
  });
  assert.deepEqual(schema, {
    $ref: '#/$defs/Patient',
    $defs: {
      Patient: {
        type: 'object',
        required: ['age'],
        properties: {
          age: { type: 'integer', title: 'Age', exclusiveMinimum: 0, examples: [50] },
          id: { type: 'string', readOnly: true },
          sex: { type: ['string', 'null'], enum: ['f', 'm', null], default: 'f' },
          parent: { $ref: '#/$defs/Patient' },
          unit: { $ref: '#/$defs/Unit' },
          far: {},
        },
      },
      Unit: { type: 'string', description: '<b>kg</b>' },
    },
  });
  const contentType = 'application/json';
  assert.deepEqual(examples, [
    { name: 'W', summary: 'A book', contentType, input: { age: 2 }, expected: { result: { age: 2 }, tolerance: 0.5 } },
    { name: 'E', contentType, input: {}, expected: { error: 'no age' } },
    { name: 'Example', contentType, input: { age: 1 } },
    { name: 'old', summary: 'Very old', contentType, input: { age: 99 } },
    { name: 'shared', contentType, input: { age: 7 } },
  ]);
});

test('what cannot be a form says so, costs little, and takes nothing from the endpoints beside it', async () => {
  const steering = '\u202e\u009b31m\u0000';
  const hostile = withBodies(
    'hostile',
    {
      '/good': jsonBody({ type: 'string', description: steering, pattern: '^a+$' }),
      '/large': jsonBody({ enum: Array.from({ length: 30_000 }, (_, i) => i) }),
      '/odd': jsonBody({ type: 'lump', enum: 5, title: {}, properties: [], required: [1], $ref: 7, examples: {} }),
      '/slow': jsonBody({ type: 'string', pattern: '(?=x)(a+)+\\1$' }),
      '/itself': jsonBody({ $ref: '#/paths/~1itself/post/requestBody/content/application~1json/schema' }),
      '/nowhere': jsonBody({ $ref: '#/components/none' }),
      '/away': jsonBody({ $ref: '../../../../etc/passwd' }),
    },
    {},
    { 'worked-examples.yaml': '- name: "' },
  );
  await service.serve(hostile);
  const { text, list } = await service.get(`/doc/forms/${hostile.id}`);
  assert.doesNotMatch(text, /[\p{Cc}\p{Cf}]/u);
  const forms = new Map(list.map((form) => [form['name'], form as Form]));
  assert.deepEqual(forms.get('good')?.schema, { type: 'string', description: steering, pattern: '^a+$' });
  assert.match(String(forms.get('good')?.['problem']), /^worked-examples\.yaml is not valid YAML/);
  assert.equal(forms.get('large')?.schema, null);
  assert.match(String(forms.get('large')?.['problem']), /more than 20000 parts/);
  assert.deepEqual(forms.get('odd')?.schema, {});
  assert.deepEqual(forms.get('slow')?.schema, { type: 'string' });
  assert.deepEqual(forms.get('nowhere')?.schema, {});
  assert.deepEqual(forms.get('away')?.schema, {});
  const itself = forms.get('itself')?.schema;
  assert.deepEqual([itself?.['$ref'], itself?.['$defs']], ['#/$defs/schema', { schema: { $ref: '#/$defs/schema' } }]);
});

test('descriptors that others would wait for are read within bounds', async () => {
  // Each anchor doubles what it stands for.
  const doubled = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`).join('\n');
  const bomb = javascriptKo('function run() { return 1; }', {
    ...{ naan, name: 'bomb' },
    files: { 'worked-examples.yaml': `a0: &a0 [x]\n${doubled}\n- { name: x, input: *a30, endpoint: /run, expect: 1 }` },
  });
  const wide = withBodies(
    'wide',
    { '/run': jsonBody({ $ref: 'a.yaml#/x' }) },
    {},
    { 'a.yaml': `x: "${'y'.repeat(3e6)}"` },
  );
  const nested = (depth: number): unknown => (depth === 0 ? {} : { items: nested(depth - 1) });
  const deep = withBodies('deep', { '/run': jsonBody(nested(300)) });
  await service.serve(bomb, wide, deep);
  assert.match(String((await formsOf(deep))[0]?.['problem']), /nested too deeply/);
  assert.deepEqual((await formsOf(bomb))[0]?.examples, []);
  assert.match(String((await formsOf(wide))[0]?.['problem']), /too large/);
});

test('a form is asked again only after a change, and is of what is active', async () => {
  const of = (code: string, description: string): Ko =>
    javascriptKo(code, {
      ...{ naan, name: 'changing' },
      files: { 'service.yaml': descriptor('changing', { '/run': jsonBody({ description }) }) },
    });
  const path = `/doc/forms/${naan}/changing/v1.0`;
  assert.equal((await service.get(path)).status, 404);
  await service.serve(of('function run() { return 1; }', 'one'));
  const { headers } = await service.get(path);
  const etag = String(headers['etag']);
  assert.equal((await service.get(path, { 'if-none-match': etag })).status, 304);
  await service.add(of('function other() { return 1; }', 'two'));
  assert.equal((await service.get(path, { 'if-none-match': etag })).status, 304);
  await service.reload(of('', ''));
  const changed = await service.get(path, { 'if-none-match': etag });
  assert.equal(changed.status, 200);
  const [form] = changed.list as Form[];
  assert.deepEqual([form?.['status'], form?.schema], ['FAILED_TO_ACTIVATE', { description: 'two' }]);
});

test('endpoints that give files take no input, and what has no endpoints has no forms', async () => {
  const files = resourceKo({ naan, name: 'files', resources: { 'a.csv': '1' } });
  const broken = javascriptKo('', { naan, name: 'broken', files: { 'service.yaml': '{' } });
  await service.serve(files);
  await service.add(files);
  const [form] = await formsOf(files);
  assert.deepEqual([form?.['method'], form?.schema, form?.['contentTypes'], form?.examples], ['get', null, [], []]);
  assert.equal((await service.get(`/doc/forms/${broken.id}`)).status, 404);
  for (const path of ['no/such/ko', '%2e%2e/x/y', `${naan}/files/v9`])
    assert.equal((await service.get(`/doc/forms/${path}`)).status, 404, path);
});
