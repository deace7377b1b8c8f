import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './support/client.ts';
import { uniqueNaan } from './support/ko.ts';
import { BMI, api, deployment, secondClient, secondKo, uniqueWord } from './support/second-generation.ts';
import type { Files } from './support/second-generation.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const { importOf, serve, endpointsAt, bmiAt } = secondClient(service);

const three = (): string => `${uniqueNaan()}/bmi/v1.0`;
const url = (): string => `https://example.org/kos/${uniqueWord()}`;

const layouts: Readonly<Record<string, () => Files>> = {
  'an implementation at the root, an id of three parts': () =>
    secondKo({
      atId: three(),
      metadata: { 'koio:hasService': [api(['.'])] },
      files: { 'bmi.js': BMI, 'deployment.yaml': deployment() },
    }),
  'an implementation in a folder, an id that is a word': () =>
    secondKo({
      atId: uniqueWord(),
      metadata: { hasService: api(['bmi-service/deno']) },
      files: { 'bmi-service/deno/src/bmi.js': BMI, 'bmi-service/deno/deployment.yaml': deployment('src/bmi.js') },
    }),
  'a package folder with the deployment beside it, an id that is a URL': () =>
    secondKo({
      atId: url(),
      metadata: { hasService: api(['service/pkg/']) },
      files: { 'service/pkg/bmi.js': BMI, 'service/deployment.yaml': deployment('pkg/bmi.js') },
    }),
  'an id that is a blank node, with a list of contexts': () => {
    const word = uniqueWord();
    return secondKo({
      atId: `_:${word}`,
      serverUrl: `/${word}`,
      metadata: {
        '@context': [
          'https://kgrid.org/koio/2.1/context.jsonld',
          'urn:unknown',
          { heading: 'dc:title' },
          { x: { y: 1 } },
        ],
        '@type': ['koio:KnowledgeObject', 'x'],
        hasService: api(['./svc/'], { '@type': ['koio:API', 'x'], hasServiceSpecification: './api/service.json' }),
      },
      files: {
        'svc/bmi.js': BMI,
        'svc/deployment.yaml': deployment(),
        'api/service.json': JSON.stringify({
          openapi: '3.0.2',
          info: { version: '1.0', title: 'T' },
          servers: [{ url: `https://api.example.org/endpoints/${word}/` }],
          paths: { '/bmi': { post: { responses: {} } } },
        }),
      },
    });
  },
  'endpoints of the first generation under metadata of the second': () => {
    const atId = three();
    return secondKo({
      atId,
      serverUrl: `/${atId.replace('/v1.0', '/1.0')}`,
      metadata: { 'dc:identifier': `ark:/${atId}`, 'dc:version': 'v1.0', 'koio:kgrid': undefined },
      files: {
        'src/bmi.js': BMI,
        'deployment.yaml': '/bmi: {post: {engine: javascript, artifact: src/bmi.js, function: bmi}}',
      },
    });
  },
  'the fields of the first generation, with terms of the second': () => {
    const atId = three();
    return secondKo({
      atId,
      serverUrl: `/${atId.replace('/v1.0', '')}`,
      metadata: {
        'dc:version': '1.0',
        'dc:identifier': ['ark:BodyMass', `ark:${atId}`],
        hasServiceSpecification: 'service.yaml',
        hasDeploymentSpecification: 'd/deployment.yaml',
      },
      files: { 'src/bmi.js': BMI, 'd/deployment.yaml': deployment('src/bmi.js') },
    });
  },
  'two implementations, of which one is for an engine that is not here': () =>
    secondKo({
      atId: uniqueWord(),
      metadata: { hasService: api(['svc/cobol/', 'svc/deno']) },
      files: {
        'svc/cobol/deployment.yaml': deployment('bmi.cbl', 'org.kgrid.cobol-activator'),
        'svc/cobol/bmi.cbl': '',
        'svc/deno/deployment.yaml': deployment(),
        'svc/deno/bmi.js': BMI,
      },
    }),
  'several artifacts of a folder, and services of other programs': () =>
    secondKo({
      atId: uniqueWord(),
      metadata: {
        hasService: [
          { '@type': 'cli', implementedBy: { '@id': 'cli/', '@type': 'Python' }, hasServiceSpecification: 'cli.md' },
          { '@type': 'Web Service', implementedBy: 'https://example.org/app' },
          api(['svc']),
        ],
      },
      files: {
        'svc/main.mjs':
          "import { round } from './lib/round.mjs';\nexport const bmi = ({ weight, height }) => round(weight / height ** 2);",
        'svc/lib/round.mjs': 'export const round = (x) => Math.round(10 * x) / 10;',
        'svc/deployment.yaml': deployment(['main.mjs', 'lib/round.mjs']),
      },
    }),
};

test('every layout of the second generation runs at the address of the specification', async () => {
  for (const [what, files] of Object.entries(layouts)) {
    assert.equal(await bmiAt(await serve(files())), 22.9, what);
  }
});

test('an @id that is a word or a URL has a place, which every answer names', async () => {
  const word = uniqueWord('Body_mass');
  const parts = {
    metadata: { 'dc:version': 'v2.1', hasService: api(['.']) },
    files: { 'bmi.js': BMI, 'deployment.yaml': deployment() },
  };
  const files = secondKo({ atId: word, ...parts });
  const place = await serve(files);
  assert.equal(place, `kgrid/${word.replaceAll(/[_-]/g, '.')}/v2.1`);
  const metadata = await service.get(`/kos/${place}`);
  assert.equal(metadata.text, files['metadata.json'], 'byte for byte');
  assert.equal(metadata.headers['content-location'], `/kos/${place}`);
  const newest = await service.get(`/kos/${place.slice(0, place.lastIndexOf('/'))}`, { 'if-none-match': '"x"' });
  assert.equal(newest.headers['content-location'], `/kos/${place}`);
  const [endpoint] = await endpointsAt(place);
  assert.equal(endpoint?.['title'], `Title of ${word}`);
  assert.equal(endpoint['hasServiceSpecification'], `/kos/${place}/service.yaml`);
  assert.equal((await importOf(files)).status, 200, 'again');
});

test('two different @ids that fall on one place are both named, and the first stays', async () => {
  const word = uniqueWord();
  const of = (atId: string): Files =>
    secondKo({ atId, metadata: { hasService: api(['.']) }, files: { 'bmi.js': BMI, 'deployment.yaml': deployment() } });
  const place = await serve(of(word));
  const before = await service.get(`/kos/${place}`);
  const refused = await importOf(of(`https://example.org/${word}`));
  assert.equal(refused.status, 400, refused.text);
  for (const name of [`https://example.org/${word}`, `where ${word} is`, place])
    assert.ok(refused.text.includes(name), refused.text);
  assert.equal((await service.get(`/kos/${place}`)).text, before.text);
  assert.equal((await importOf(of(`_:${word}`))).status, 200, 'another spelling of the same');
});

test('a KO that deploys nothing is on the shelf, has no endpoint, and is no failure', async () => {
  const place = await serve(
    secondKo({ atId: uniqueWord(), metadata: { hasService: { '@type': 'cli', implementedBy: 'x/' } } }),
  );
  assert.equal((await service.get(`/kos/${place}`)).status, 200);
  assert.deepEqual(await endpointsAt(place), []);
  const { components } = (await service.get('/actuator/health')).object as {
    components: Record<string, { details: JsonObject }>;
  };
  const details = components['activationService']?.details ?? {};
  assert.ok(!JSON.stringify(details['failures']).includes(place));
  const named = (details['withoutEndpoints'] as JsonObject[]).filter((each) => each['knowledgeObject'] === place);
  assert.deepEqual(named, [{ knowledgeObject: place, detail: 'deploys no endpoint' }]);
  const called = await service.post(`/${place.replace(/\/v1\.0$/, '/1.0')}/bmi`, {});
  assert.equal(called.status, 404);
  assert.match(String(called.object['Detail']), /deploys no endpoint/);
});

test('several services have their endpoints, each with its descriptor', async () => {
  const atId = uniqueWord();
  const place = await serve(
    secondKo({
      atId,
      paths: ['/one'],
      metadata: { hasService: [api(['a']), api(['b'], { hasServiceSpecification: 'b/service.yaml' })] },
      files: {
        'a/bmi.js': BMI,
        'a/deployment.yaml': deployment('bmi.js', 'javascript', '/one'),
        'b/bmi.js': BMI,
        'b/deployment.yaml': deployment('bmi.js', 'javascript', '/two'),
        'b/service.yaml': secondKo({ atId, paths: ['/two'] })['service.yaml'] ?? '',
      },
    }),
  );
  assert.deepEqual([await bmiAt(place, 'one'), await bmiAt(place, 'two')], [22.9, 22.9]);
  const descriptors = (await endpointsAt(place)).map((each) => each['hasServiceSpecification']);
  assert.deepEqual(descriptors, [`/kos/${place}/service.yaml`, `/kos/${place}/b/service.yaml`]);
});

test('what two services deploy at one path fails and names both; the rest runs', async () => {
  const place = await serve(
    secondKo({
      atId: uniqueWord(),
      paths: ['/bmi', '/other'],
      metadata: { hasService: [api(['a']), api(['b'])] },
      files: {
        'a/bmi.js': BMI,
        'a/deployment.yaml': deployment(),
        'b/bmi.js': BMI,
        'b/deployment.yaml': deployment() + deployment('bmi.js', 'javascript', '/other'),
      },
    }),
  );
  const found: Record<string, JsonObject> = {};
  for (const each of await endpointsAt(place)) found[String(each['@id']).split('/').at(-1) ?? ''] = each;
  assert.deepEqual(Object.keys(found).sort(), ['bmi', 'other']);
  assert.equal(found['bmi']?.['status'], 'FAILED_TO_ACTIVATE');
  assert.match(
    String(found['bmi']?.['detail']),
    /^\/bmi is deployed by two services, in a\/deployment\.yaml line 2 and in b\/deployment\.yaml line 2: take it out of one of them$/,
  );
  assert.equal(await bmiAt(place, 'other'), 22.9);
});
