import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../lib/errors.ts';
import { parseService } from './service.ts';
import type { Operation, Service } from './service.ts';

const parse = (text: string): Service => parseService(text, 'service.yaml');
const post = (text: string): Operation | undefined => parse(text).paths.get('/a')?.methods.get('post');

test('version, title, servers, paths and media types are read, with their lines', () => {
  const text = `openapi: 3.0.2
info:
  version: 1.10
  title: Score
servers:
  - url: /naan/name
    description: first
  - url: https://example.org/naan/name/1.10
paths:
  /score:
    post:
      operationId: score
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/input'}
          text/plain: {}
      responses:
        200:
          content: {application/json: {}, text/html: {}}
        default:
          content: {text/x: {}}
`;
  assert.deepEqual(parse(text), {
    file: 'service.yaml',
    apiVersion: '1.10',
    title: 'Score',
    servers: ['/naan/name', 'https://example.org/naan/name/1.10'],
    paths: new Map([
      [
        '/score',
        {
          line: 10,
          methods: new Map([
            [
              'post',
              {
                line: 11,
                operationId: 'score',
                requestMediaTypes: ['application/json', 'text/plain'],
                responseMediaTypes: ['application/json', 'text/html'],
              },
            ],
          ]),
        },
      ],
    ]),
    lines: { apiVersion: 3, servers: 5, paths: 9 },
  });
});

const versions: [string, string | undefined][] = [
  ['version: 1.0', '1.0'],
  ['version: 1.10', '1.10'],
  ['version: 01', '01'],
  ['version: 1e3', '1e3'],
  ['version: "2.0"', '2.0'],
  ["version: 'v1.0'", 'v1.0'],
  ['version: 2020-01-01', '2020-01-01'],
  ['version: 1_0', '1_0'],
  ['version: 0x10', '0x10'],
  ['version: !!str 1.0', '1.0'],
  ['version: &v 1.0', '1.0'],
  ['version: on', 'on'],
  ['version: >-\n    1.0', '1.0'],
  ['version: 1.0 # newest', '1.0'],
  ['version:\n    1.0', '1.0'],
  ['version:', undefined],
  ['version: null', undefined],
  ['version: [1.0]', undefined],
  ['title: x', undefined],
];

for (const [source, expected] of versions) {
  test(`the API version of ${JSON.stringify(source)} is ${String(expected)}`, () => {
    assert.equal(parse(`info:\n  ${source}\n`).apiVersion, expected);
  });
}

test('JSON is a descriptor too, and its numbers keep their source', () => {
  const service = parse(
    '{"openapi": "3.0.0", "info": {"version": 1.00}, "servers": [{"url": "/a/b"}], "paths": {"/x/": {"get": {}}}}',
  );
  assert.deepEqual([service.apiVersion, service.servers], ['1.00', ['/a/b']]);
  assert.deepEqual(service.paths.get('/x')?.methods.get('get')?.responseMediaTypes, []);
});

const components = `components:
  requestBodies:
    Input: {content: {application/json: {}, text/csv: {}}}
    Again: {$ref: '#/components/requestBodies/Input'}
    Self: {$ref: '#/components/requestBodies/Self'}
    a/b~c d: {content: {text/odd: {}}}
  responses:
    Output: {content: {text/html: {}}}
  pathItems:
    Item: {post: {requestBody: {content: {text/item: {}}}}, get: {}}
`;
const bodies: [string, string, string[] | undefined][] = [
  ['no body', '{}', undefined],
  ['a body without content', '{requestBody: {required: true}}', undefined],
  ['a body with empty content', '{requestBody: {content: {}}}', undefined],
  [
    'parameters and wildcards',
    "{requestBody: {content: {'text/*': {}, 'text/csv; header=present': {}}}}",
    ['text/*', 'text/csv; header=present'],
  ],
  ['a local reference', "{requestBody: {$ref: '#/components/requestBodies/Input'}}", ['application/json', 'text/csv']],
  [
    'a reference to a reference',
    "{requestBody: {$ref: '#/components/requestBodies/Again'}}",
    ['application/json', 'text/csv'],
  ],
  ['a reference to itself', "{requestBody: {$ref: '#/components/requestBodies/Self'}}", undefined],
  ['an escaped reference', "{requestBody: {$ref: '#/components/requestBodies/a~1b~0c%20d'}}", ['text/odd']],
  ['a reference to nothing', "{requestBody: {$ref: '#/components/none'}}", undefined],
  ['a remote reference', "{requestBody: {$ref: 'https://example.invalid/x.yaml#/a'}}", undefined],
  ['a reference to a broken place', "{requestBody: {$ref: '#/%zz/~/'}}", undefined],
  ['content that is a list', '{requestBody: {content: [a]}}', undefined],
];

for (const [what, operation, expected] of bodies) {
  test(`request media types: ${what}`, () => {
    const found = post(`paths:\n  /a:\n    post: ${operation}\n${components}`);
    assert.ok(found !== undefined);
    assert.deepEqual(found.requestMediaTypes, expected);
  });
}

const answers: [string, string, string[]][] = [
  ['200', '{200: {content: {a/b: {}}}}', ['a/b']],
  ['quoted 200', '{"200": {content: {a/b: {}}}}', ['a/b']],
  ['2XX', '{2XX: {content: {a/b: {}}}, default: {content: {c/d: {}}}}', ['a/b']],
  ['200 before 2XX', '{2XX: {content: {a/b: {}}}, 200: {content: {c/d: {}}}}', ['c/d']],
  ['a reference', "{200: {$ref: '#/components/responses/Output'}}", ['text/html']],
  ['only default', '{default: {content: {c/d: {}}}}', []],
  ['a list', '[a]', []],
];

for (const [what, responses, expected] of answers) {
  test(`response media types: ${what}`, () => {
    assert.deepEqual(
      post(`paths: {/a: {post: {responses: ${responses}}}}\n${components}`)?.responseMediaTypes,
      expected,
    );
  });
}

test('a path item may be a reference, with methods of its own beside it', () => {
  const { paths } = parse(`paths:\n  /a: {$ref: '#/components/pathItems/Item', POST: {}}\n${components}`);
  const methods = paths.get('/a')?.methods;
  assert.deepEqual([...(methods?.keys() ?? [])], ['post', 'get']);
  assert.equal(methods?.get('post')?.requestMediaTypes, undefined);
});

const odd = [
  'info: [1]\nservers: /a/b\npaths: none',
  'info:\nservers:\npaths:',
  'servers: [{url: {a: b}}, x, {}]\npaths: {/a: , /b: x, 5: {post: }}',
  'paths: {? [complex, key] : {post: {}}, /a: {post: []}}',
  'swagger: "2.0"\npaths: {/a: {post: {consumes: [x]}}}',
  'paths: {/a: {post: {requestBody: text, responses: text}}}\ncomponents: {schemas: {X: {default: .nan, type: [1]}}}',
];

for (const text of odd) {
  test(`an odd descriptor is no error: ${JSON.stringify(text).slice(0, 50)}`, () => {
    assert.deepEqual(parse(text).servers, []);
  });
}

test('a file that is not YAML or no map is refused', () => {
  for (const text of ['', '- a', 'a: [', 'text', '\t- a: b']) {
    assert.throws(
      () => parse(text),
      (thrown) => thrown instanceof ServiceError && thrown.status === 400 && thrown.message.startsWith('service.yaml'),
      JSON.stringify(text),
    );
  }
});

test('a descriptor of 5 MB with large schemas is read', () => {
  const schema =
    'type: object, description: "A long description that says what this thing is about, as people write them"';
  const schemas = Array.from({ length: 5_000 }, (_, i) => `    Thing${String(i)}: {${schema}}\n`).join('');
  const padding = `  # ${'x'.repeat(4_000_000)}\n`;
  const text = `paths: {/a: {post: {}}}\ncomponents:\n${padding}  schemas:\n${schemas}`;
  assert.ok(text.length > 4_500_000);
  assert.deepEqual([...parse(text).paths.keys()], ['/a']);
});
