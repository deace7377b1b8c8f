import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundle, SchemaRefused, whereIs } from './bundle.ts';
import { NeedsFile, TextDocuments } from './documents.ts';
import { CompiledSchema } from './schema-thread.ts';

const FILE = 'service.yaml';

interface Made {
  readonly told: (value: unknown) => string[];
  readonly notes: string[];
}

/** Of the schema `#/components/schemas/a` of a document; `more`: other schemas and files. */
function made(
  schema: unknown,
  openapi = '3.1.0',
  more: Record<string, unknown> = {},
  files: [string, string][] = [],
): Made {
  const text = JSON.stringify({ openapi, components: { schemas: { a: schema, ...more } } });
  const documents = new TextDocuments(new Map<string, string | null>([[FILE, text], ...files]), FILE);
  const options = { isPartial: false, ofOtherSide: 'readOnly' as const };
  const bundled = bundle(documents, FILE, ['components', 'schemas', 'a'], options);
  const compiled = new CompiledSchema(bundled);
  return {
    told: (value) =>
      (compiled.check(value, 0)?.told ?? []).map(({ path, expected, came }) => `${path} ${expected} ${came}`.trim()),
    notes: bundled.notes.map((note) => `${whereIs(note)}: ${note.message}`),
  };
}

const object = (properties: object, more = {}): object => ({ type: 'object', properties, ...more });
const parsed = (text: string): unknown => JSON.parse(text) as unknown;

/** Schema, a value, and what is told of it; nothing for a value that is right. */
const cases: [string, unknown, unknown, string[], string?][] = [
  ['a type', object({ n: { type: 'integer' } }), { n: 1.5 }, ['/n integer 1.5']],
  ['two types', { type: ['integer', 'null'] }, 'x', ['integer or null "x"']],
  [
    'all that is missing',
    object({ a: { type: 'string' } }, { required: ['a', 'b'] }),
    {},
    ['/a string nothing', '/b a value nothing'],
  ],
  ['what is too much', object({}, { additionalProperties: false }), { z: 'x' }, ['/z nothing "x"']],
  [
    'limits',
    object({ n: { minimum: 1, multipleOf: 0.1 } }),
    { n: 0.33 },
    ['/n a number >= 1 and a multiple of 0.1 0.33'],
  ],
  ['a decimal that is a multiple', { multipleOf: 0.1 }, 0.3, []],
  ['a list of values', { enum: ['m', 'f', 1] }, 'x', ['one of "m", "f", 1 "x"']],
  [
    'a format',
    object({ d: { type: 'string', format: 'date' } }),
    { d: '2026-13-01' },
    ['/d text of the format date "2026-13-01"'],
  ],
  ['a format that nobody knows', { format: 'mrn' }, 'x', []],
  [
    'a format of a long text',
    { format: 'email' },
    `a@b.${'c'.repeat(2000)}`,
    [`text of the format email "a@b.${'c'.repeat(36)}…"`],
  ],
  ['a pattern', { pattern: '^\\d{3}-\\d{2}$' }, '1', ['text that matches "^\\\\d{3}-\\\\d{2}$" "1"']],
  ['alternatives', { anyOf: [{ type: 'string' }, { type: 'number' }] }, true, ['string or number true']],
  ['two right alternatives of one', { oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, ['only one of its alternatives 3']],
  [
    'items that are the same in another order',
    { uniqueItems: true },
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    ['items that differ a list of 2 items'],
  ],
  ['items of several types', { uniqueItems: true }, [1, '1', true, null, 'true', [1], ['1']], []],
  ['a condition', { if: { required: ['a'] }, then: { required: ['b'] } }, { a: 1 }, ['/b a value nothing']],
  [
    'what no other word names',
    { allOf: [object({ a: {} })], unevaluatedProperties: false },
    { a: 1, b: 2 },
    ['/b nothing 2'],
  ],
  [
    'names that every object inherits',
    object({}, { required: ['toString', 'constructor'] }),
    {},
    ['/toString a value nothing', '/constructor a value nothing'],
  ],
  ['properties named as those', object({ constructor: { type: 'number' } }), {}, []],
  [
    'a prototype that is sent',
    object({ a: { type: 'number' } }, { additionalProperties: false }),
    parsed('{"__proto__":{"a":"x"}}'),
    ['/__proto__ nothing an object'],
  ],
  ['limits as in OpenAPI 3.0', { minimum: 0, exclusiveMinimum: true }, 0, ['a number > 0 0'], '3.0.3'],
  ['null in OpenAPI 3.0', { type: 'string', nullable: true, enum: ['a'] }, null, [], '3.0.3'],
  ['null beside a reference in OpenAPI 3.0', { $ref: '#/components/schemas/b', nullable: true }, null, [], '3.0.3'],
  ['null of all in OpenAPI 3.0', { allOf: [{ type: 'object' }], nullable: true }, null, [], '3.0.3'],
  ['no null in OpenAPI 3.0', { type: 'string' }, null, ['string null'], '3.0.3'],
  ['what stands beside a reference in OpenAPI 3.0', { $ref: '#/components/schemas/b', minimum: 9 }, 1, [], '3.0.3'],
  ['what stands beside a reference in 3.1', { $ref: '#/components/schemas/b', minimum: 9 }, 1, ['a number >= 9 1']],
  [
    'examples, discriminators and names of people',
    { type: 'number', example: 'x', discriminator: { propertyName: 'y' }, xml: {}, 'x-a': 1 },
    1,
    [],
    '3.0.3',
  ],
  [
    'what only the answer has',
    object({ id: { readOnly: true }, n: {} }, { required: ['id', 'n'] }),
    { n: 1 },
    [],
    '3.0.3',
  ],
  ['a reference that leads out of the package', { $ref: 'https://example.org/a.json#/x' }, 5, []],
  ['not what is not known', { not: { $ref: 'https://example.org/a.json' } }, 5, []],
  ['one of what is not known', { oneOf: [{ $ref: 'http://a/b' }, { $ref: 'http://a/c' }] }, 5, []],
  ['a schema that is false', object({ a: false }), { a: 1 }, ['/a nothing 1']],
];

for (const [what, schema, value, told, openapi] of cases)
  test(`told of ${what}`, () => {
    assert.deepEqual(made(schema, openapi, { b: { type: 'number' } }).told(value), told);
  });

test('references lead to other files of the package, anchors and themselves, and a missing file is asked for', () => {
  const files: [string, string][] = [
    [
      'schemas/dose.yaml',
      'dose: {type: object, properties: {next: {$ref: "#/dose"}, unit: {$ref: "../units.json#u"}}}',
    ],
    ['units.json', '{"a": {"$anchor": "u", "enum": ["mg"]}}'],
  ];
  const schema = { $ref: './schemas/dose.yaml#/dose' };
  assert.deepEqual(made(schema, '3.1.0', {}, files).told({ next: { next: { unit: 'g' } } }), [
    '/next/next/unit one of "mg" "g"',
  ]);
  assert.throws(
    () => made(schema),
    (thrown) => thrown instanceof NeedsFile && thrown.file === 'schemas/dose.yaml',
  );
});

test('what is not checked is noted with its place, and the rest is checked', () => {
  const schema = object({
    a: { pattern: '(?=x)', type: 'string' },
    b: { $ref: '#/nowhere' },
    c: { minimum: '1', type: 'number' },
    d: { type: 'text' },
    e: 5,
    f: { $ref: '../../outside.yaml' },
  });
  const { told, notes } = made(schema);
  assert.deepEqual(told({ a: 1, b: 2, c: 'x', d: 4, e: 5, f: 6 }), ['/a string 1', '/c number "x"']);
  const at = 'service.yaml#/components/schemas/a/properties';
  assert.equal(notes.length, 5);
  assert.match(notes[0] ?? '', new RegExp(`^${at}/a/pattern: the pattern "\\(\\?=x\\)" is not checked: `));
  assert.equal(
    notes[1],
    `${at}/b/$ref: $ref "#/nowhere" leads to nothing in the package, so anything is allowed there`,
  );
  assert.equal(notes[2], `${at}/c/minimum: minimum is not what it must be, so it is not checked`);
});

test('cycles of references end', () => {
  const { told, notes } = made({ $ref: '#/components/schemas/b' }, '3.1.0', {
    b: { $ref: '#/components/schemas/c' },
    c: { allOf: [{ $ref: '#/components/schemas/b' }] },
  });
  assert.deepEqual(told(1), []);
  assert.match(notes.join(), /refers to itself/);
  const tree = made(object({ left: { $ref: '#/components/schemas/a' } }));
  let deep = {};
  for (let i = 0; i < 500; i++) deep = { left: deep };
  assert.deepEqual(tree.told(deep), []);
  assert.deepEqual(made({ $dynamicRef: '#n' }, '3.1.0', { b: { $dynamicAnchor: 'n', type: 'null' } }).told(1), [
    'null 1',
  ]);
});

const nested = (depth: number): object => {
  let schema: object = {};
  for (let i = 0; i < depth; i++) schema = { items: schema };
  return schema;
};

test('schemas that are too large or too deep are refused', () => {
  const wide = object(Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`p${i}`, {}])));
  for (const schema of [wide, { enum: Array.from({ length: 30_000 }, (_, i) => i) }])
    assert.throws(() => made(schema), SchemaRefused);
  assert.throws(() => made({ items: { $ref: '#/x' }, ...nested(120) }), /./);
});

test('patterns and unique items take no more than the length of the value', () => {
  const { told } = made(object({ p: { pattern: '^(a+)+$' }, u: { uniqueItems: true } }));
  const before = process.cpuUsage();
  const value = { p: `${'a'.repeat(20_000)}b`, u: Array.from({ length: 50_000 }, (_, i) => ({ i })) };
  assert.equal(told(value).length, 1);
  assert.ok(process.cpuUsage(before).user < 3_000_000);
});

test('few of many violations are told, with their number, and nothing long', () => {
  const { check } = { check: made({ items: { type: 'number' } }) };
  const told = check.told(Array.from({ length: 5000 }, () => 'x'.repeat(1000)));
  assert.equal(told.length, 20);
  assert.ok(told.every((line) => line.length < 100));
});
