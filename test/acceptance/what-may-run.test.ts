import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, ko as koOf, uniqueNaan, welcomeKo } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();

/** Serves the KO and asserts that none of its endpoints runs; gives what the service says about it. */
async function whyItDoesNotRun(ko: Ko): Promise<string> {
  await service.serve(ko);
  const endpoints = await service.endpoints(ko.naan);
  for (const endpoint of endpoints) assert.equal(endpoint['status'], 'FAILED_TO_ACTIVATE');
  const health = (await service.get('/actuator/health')).object['components'] as Record<
    string,
    { details: Record<string, unknown> }
  >;
  const failures = JSON.stringify(health['activationService']?.details['failures'] ?? []);
  return endpoints.length > 0 ? endpoints.map((endpoint) => String(endpoint['detail'])).join('\n') : failures;
}

async function assertRuns(ko: Ko, endpoint = 'run'): Promise<void> {
  await service.serve(ko);
  const answer = await service.post(pathOf(ko, endpoint), { name: 'Ada' });
  assert.equal(answer.status, 200, answer.text);
}

test('a KO whose ids disagree does not run (S-RULE-AGREE)', async () => {
  const cases: Record<string, (naan: string) => Record<string, unknown>> = {
    'another identifier': (naan) => ({ identifier: `ark:/${naan}/other/v1.0` }),
    'an identifier that is no ark': () => ({ identifier: 'urn:isbn:1' }),
    'another version': () => ({ version: 'v2.0' }),
  };
  for (const [name, metadata] of Object.entries(cases)) {
    const naan = uniqueNaan();
    const why = await whyItDoesNotRun(welcomeKo({ naan, metadata: metadata(naan) }));
    assert.match(why, /identifier|version/, name);
    assert.match(why, /metadata\.json|@id/, name);
  }
});

test('a KO whose server address disagrees does not run (S-SERVICE-SERVER, S-RULE-AGREE)', async () => {
  for (const url of ['/other/ko', `/${'{naan}'}/other`, '/', 'https://example.org/x/y']) {
    const naan = uniqueNaan();
    const why = await whyItDoesNotRun(welcomeKo({ naan, serverUrl: url.replace('{naan}', naan) }));
    assert.match(why, /server/i, url);
    assert.match(why, /service\.yaml/, url);
  }
});

test('the server address may have the API version and be absolute', async () => {
  for (const url of ['/N/ko', '/N/ko/1.0', 'https://example.org/N/ko', 'http://localhost:8080/N/ko/1.0', '/N/ko/']) {
    const naan = uniqueNaan();
    await assertRuns(javascriptKo('function run() { return 1; }', { naan, serverUrl: url.replace('N', naan) }));
  }
});

test('an endpoint whose path or method is not in the service descriptor fails by itself (S-SERVICE-PATHS, S-RULE-AGREE)', async () => {
  const naan = uniqueNaan();
  const ko = javascriptKo('function run() { return 1; }', { naan });
  const deployment = `
/run: {post: {artifact: src/index.js, engine: javascript, function: run}}
/undeclared: {post: {artifact: src/index.js, engine: javascript, function: run}}
`;
  await service.serve({ ...ko, files: { ...ko.files, 'deployment.yaml': deployment } });
  assert.equal((await service.post(pathOf(ko), {})).status, 200);
  const failed = (await service.endpoints(naan)).find((endpoint) => endpoint['@id'] === `${naan}/ko/1.0/undeclared`);
  assert.equal(failed?.['status'], 'FAILED_TO_ACTIVATE');
  assert.match(String(failed['detail']), /undeclared/);
  assert.equal((await service.post(pathOf(ko, 'undeclared'), {})).status, 404);
});

test('code uses post and a resource uses get (S-DEPLOYMENT-METHOD)', async () => {
  const code = koOf({
    naan: uniqueNaan(),
    endpoints: [
      { path: '/run', method: 'get', deployment: { artifact: 'a.js', engine: 'javascript', function: 'run' } },
    ],
    files: { 'a.js': 'function run() {}' },
  });
  assert.match(await whyItDoesNotRun(code), /post/i);
  const files = koOf({
    naan: uniqueNaan(),
    endpoints: [{ path: '/run', method: 'post', deployment: { artifact: 'a.txt', engine: 'resource' } }],
    files: { 'a.txt': 'a' },
  });
  assert.match(await whyItDoesNotRun(files), /get/i);
});

test('code that does not load fails with its cause, file and line', async () => {
  const cases = {
    'const a = 1;\nconst b = ;\nfunction run() {}': [/SyntaxError/, 2],
    '\n\nthrow new Error("at load")': [/at load/, 3],
    'null.x;\nfunction run() {}': [/TypeError/, 1],
  } as const;
  for (const [code, [cause, line]] of Object.entries(cases)) {
    const why = await whyItDoesNotRun(javascriptKo(code, { naan: uniqueNaan() }));
    assert.match(why, cause);
    assert.match(why, new RegExp(`src/index\\.js.*\\b${line}\\b`, 's'));
    assert.doesNotMatch(why, /\n\s+at /);
  }
});

test('a function that is not there fails the endpoint (S-RULE-AGREE)', async () => {
  for (const code of ['function other() {}', 'const run = 5;', 'var run;']) {
    const why = await whyItDoesNotRun(javascriptKo(code, { naan: uniqueNaan() }));
    assert.match(why, /\brun\b/);
    assert.match(why, /src\/index\.js/);
  }
});

test('an engine that nobody has fails the endpoint', async () => {
  const ko = javascriptKo('function run() {}', { naan: uniqueNaan(), deployment: { engine: 'cobol' } });
  assert.match(await whyItDoesNotRun(ko), /cobol/);
});

test('one endpoint that fails leaves the others running', async () => {
  const naan = uniqueNaan();
  const post = (name: string, artifact: string) => ({
    path: `/${name}`,
    consumes: ['application/json'],
    deployment: { artifact, engine: 'javascript', function: 'run' },
  });
  const ko = koOf({
    naan,
    endpoints: [post('good', 'good.js'), post('bad', 'bad.js')],
    files: { 'good.js': 'function run() { return 1; }', 'bad.js': 'function run( {' },
  });
  await service.serve(ko);
  const statuses = new Map((await service.endpoints(naan)).map((endpoint) => [endpoint['@id'], endpoint['status']]));
  assert.equal(statuses.get(`${naan}/ko/1.0/good`), 'ACTIVATED');
  assert.equal(statuses.get(`${naan}/ko/1.0/bad`), 'FAILED_TO_ACTIVATE');
  assert.equal((await service.post(pathOf(ko, 'good'), {})).object['result'], 1);
});

test('one path may have code and a resource, each with its method', async () => {
  const naan = uniqueNaan();
  const code = { artifact: 'a.js', engine: 'javascript', function: 'run' };
  const parts = koOf({ naan, files: { 'a.js': 'function run() { return 1; }', 'a.txt': 'a' } });
  const ko = {
    ...parts,
    files: {
      ...parts.files,
      'service.yaml': JSON.stringify({
        openapi: '3.0.2',
        info: { version: '1.0' },
        servers: [{ url: `/${naan}/ko` }],
        paths: { '/both': { post: {}, get: {} } },
      }),
      'deployment.yaml': JSON.stringify({ '/both': { post: code, get: { artifact: 'a.txt', engine: 'resource' } } }),
    },
  };
  await service.serve(ko);
  for (const path of ['1.0/both', 'both?v=1.0', 'both?v=v1.0', 'both']) {
    assert.equal((await service.post(`/${naan}/ko/${path}`, {})).object['result'], 1, path);
    assert.deepEqual((await service.get(`/${naan}/ko/${path}`)).object['result'], ['a.txt'], path);
    const other = await service.delete(`/${naan}/ko/${path}`);
    assert.deepEqual([other.status, other.headers['allow']], [405, 'GET, HEAD, POST'], path);
  }
  assert.equal((await service.get(`/${naan}/ko/1.0/both/a.txt`)).text, 'a');
  const listed = await service.get(`/endpoints/${naan}/ko/both?v=1.0`);
  assert.deepEqual(listed.list.map((each) => each['engine']).sort(), ['javascript', 'resource']);
});

test('a failed endpoint has all fields and a detail of one sentence', async () => {
  const ko = javascriptKo('function run( {', { naan: uniqueNaan() });
  await service.serve(ko);
  const [endpoint] = await service.endpoints(ko.naan);
  assert.equal(endpoint?.['status'], 'FAILED_TO_ACTIVATE');
  assert.equal(endpoint['@id'], `${ko.naan}/ko/1.0/run`);
  assert.equal(endpoint['engine'], 'javascript');
  assert.equal(endpoint['knowledgeObject'], `/kos/${ko.id}`);
  assert.equal(typeof endpoint['detail'], 'string');
  assert.ok(!String(endpoint['detail']).includes('\n'));
});
