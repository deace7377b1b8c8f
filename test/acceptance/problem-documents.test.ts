/** Errors that a program can read (RFC 9457), and answers that leave out what a program has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from './support/ko.ts';
import { theService } from './support/the-service.ts';

const service = await theService();
const PROBLEM = { accept: 'application/problem+json' };
const SCHEMA = { type: 'object', required: ['age'], properties: { age: { type: 'number', minimum: 18 } } };
const CODE = `function run(input) { if (input.fail) throw new Error('broken'); return input; }`;

const naan = uniqueNaan();
const plain = javascriptKo(CODE, { naan, name: 'plain' });
const checked = {
  ...plain,
  ...javascriptKo(CODE, {
    naan,
    name: 'checked',
    files: {
      'service.yaml': stringify({
        openapi: '3.0.3',
        info: { title: 'checked', version: '1.0' },
        servers: [{ url: `/${naan}/checked` }],
        paths: {
          '/run': {
            post: {
              requestBody: { required: true, content: { 'application/json': { schema: SCHEMA } } },
              responses: { 200: { description: 'ok' } },
            },
          },
        },
      }),
      'deployment.yaml': stringify({
        '/run': { post: { artifact: 'src/index.js', engine: 'javascript', function: 'run', validate: 'enforce' } },
      }),
    },
  }),
};

test('a refused input has the place and what is expected of it, and nothing of the input', async () => {
  await service.serve(checked);
  const answer = await service.post(pathOf(checked), { age: 'Mrs Miller' }, PROBLEM);
  assert.deepEqual([answer.status, answer.headers['content-type']], [400, 'application/problem+json']);
  const { requestId, executionId, ...problem } = answer.object;
  assert.deepEqual(problem, {
    type: 'urn:kgrid:error:invalid-input',
    status: 400,
    title: 'Invalid Input',
    detail: 'The input is not what the endpoint takes, at 1 of its places',
    instance: pathOf(checked),
    errors: [{ pointer: '/age', expected: 'number' }],
  });
  assert.equal(requestId, answer.headers['x-request-id']);
  assert.equal(executionId, answer.headers['kgrid-execution-id']);
  assert.doesNotMatch(answer.text, /Miller/);
});

test('every kind of error has its type, on the fast path, by the router and on the shelf', async () => {
  await service.serve(plain);
  const path = pathOf(plain);
  for (const [answer, status, code] of [
    [await service.post(path, { fail: true }, PROBLEM), 500, 'code-error'],
    [await service.post(`${path}/`, { fail: true }, PROBLEM), 500, 'code-error'],
    [await service.post(path, '{', PROBLEM), 400, 'body-not-readable'],
    [await service.post(`/${naan}/none/1.0/run`, {}, PROBLEM), 404, 'endpoint-not-found'],
    [await service.get(`/kos/${naan}/none/v1.0`, PROBLEM), 404, 'ko-not-found'],
    [await service.post(path, {}, { ...PROBLEM, 'content-type': 'text/csv' }), 415, 'unsupported-media-type'],
  ] as const) {
    assert.deepEqual([answer.status, answer.object['type']], [status, `urn:kgrid:error:${code}`], answer.text);
    assert.equal(answer.headers['kgrid-error'], code);
  }
});

test('who does not prefer it gets the form of the specification, and a good answer is the usual one', async () => {
  await service.serve(plain);
  const both = 'application/json, application/problem+json;q=0.9';
  for (const accept of [undefined, 'application/json', '*/*', both]) {
    const answer = await service.post(pathOf(plain), { fail: true }, accept === undefined ? {} : { accept });
    assert.equal(answer.object['Title'], 'General Adapter Exception');
  }
  const good = await service.post(pathOf(plain), { a: 1 }, PROBLEM);
  assert.deepEqual([good.status, good.object['result']], [200, { a: 1 }]);
});

test('Prefer: return=minimal leaves info out, and the answer says that it did', async () => {
  await service.serve(plain);
  const answer = await service.post(pathOf(plain), { a: 1 }, { prefer: 'respond-async, return=minimal' });
  assert.deepEqual(answer.object, { result: { a: 1 } });
  assert.equal(answer.headers['preference-applied'], 'return=minimal');
  const whole = await service.post(pathOf(plain), { a: 1 }, { prefer: 'return=representation' });
  assert.ok('info' in whole.object);
});
