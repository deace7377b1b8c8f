/** Numbers that doubles do not hold, in inputs and results, in each engine that runs code. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { sendBatch } from './support/batch-client.ts';
import { theWorkerService, withInput } from './support/workers.ts';

const naan = uniqueNaan();
const service = await theWorkerService();

const AMOUNT = '#/paths/~1run/post/requestBody/content/application~1json/schema/properties/amount';
const NUMBERS = { type: 'array', items: { anyOf: [{ $ref: AMOUNT }, { type: 'string' }] } };
const SCHEMA = {
  type: 'object',
  properties: { any: {}, give: {}, x: {}, whole: { type: 'integer' }, amount: { type: 'number' }, amounts: NUMBERS },
  additionalProperties: { type: ['number', 'null'] },
};
const ODD = {
  big: { javascript: '({ a: { b: [1, 10n] } })', node: '({ a: { b: [1, 10n] } })' },
  boxed: { javascript: 'Object(1n)', node: 'Object(1n)' },
  raw: {
    javascript: '[{ x: JSON.rawJSON("-1e999") }]',
    node: '[{ x: JSON.rawJSON("-1e999") }]',
    python: '[{"x": Decimal("-1e999")}]',
  },
  long: {
    javascript: '({ "a b": JSON.rawJSON("9".repeat(400)) })',
    node: '({ "a b": JSON.rawJSON("9".repeat(400)) })',
    python: '{"a b": 10**400}',
  },
  text: { javascript: '"1e999" + "9".repeat(400)', node: '"1e999" + "9".repeat(400)', python: '"1e999" + "9" * 400' },
  deep: {
    javascript: '(function f(x) { return x.x === undefined ? 1 : 1 + f(x.x); })(input.x)',
    node: '(function f(x) { return x.x === undefined ? 1 : 1 + f(x.x); })(input.x)',
  },
};
type Engine = 'javascript' | 'node' | 'python';
const oddIn = (engine: Engine): [string, string][] =>
  Object.entries(ODD).flatMap(([how, { [engine]: code }]: [string, Partial<Record<Engine, string>>]) =>
    code === undefined ? [] : [[how, code] as [string, string]],
  );
const CODE = `function run(input) {
  if (input.give === undefined) return input;
  switch (input.give) {\n${oddIn('javascript')
    .map(([how, code]) => `case '${how}': return ${code};`)
    .join('\n')}\n}
}`;
const PYTHON = `from decimal import Decimal
def run(value):
    if "give" not in value:
        return value
    return {${oddIn('python')
      .map(([how, code]) => `"${how}": lambda: ${code}`)
      .join(', ')}}[value["give"]]()
`;
const described = (ko: Ko): Ko => withInput(SCHEMA, ko);
const kos: Record<Engine, Ko> = {
  javascript: described(javascriptKo(CODE, { naan, name: 'javascript' })),
  node: described(
    runtimeKo({ naan, name: 'node', engine: 'node', code: { 'src/index.js': `${CODE} exports.run = run;` } }),
  ),
  python: described(runtimeKo({ naan, name: 'python', engine: 'python', code: { 'src/main.py': PYTHON } })),
};
await service.serve(...Object.values(kos));

const post = (engine: Engine, body: string) =>
  service.send('POST', pathOf(kos[engine]), { body, headers: { 'content-type': 'application/json' } });
const BIG = '12345678901234567890';
const integers = (engine: string, pointer: string): string =>
  `The number at ${pointer} is an integer with more digits than the ${engine} engine holds exactly: send it as a string, or declare \`type: number\` there where the nearest number will do`;

for (const engine of ['javascript', 'node'] as const) {
  test(`${engine}: an integer that a double does not hold is 400 with its pointer, and no other number is`, async () => {
    for (const [body, pointer] of [
      [`{"any":${BIG}}`, '/any'],
      [`{"any":[0,{"a/b~":[-9007199254740993]}]}`, '/any/1/a~1b~0/0'],
      [`{"whole":${BIG}}`, '/whole'],
      [`{"amount":${BIG},"any":{"x":"${BIG}","amount":${BIG}}}`, '/any/amount'],
      [`{"any":{"\\u0061\\"":${BIG}}}`, '/any/a"'],
    ] as const) {
      const { status, object } = await post(engine, body);
      assert.deepEqual(
        [status, object['Title'], object['Detail']],
        [400, 'Invalid Input', integers(engine, pointer)],
        body,
      );
    }
    for (const body of [
      `{"amount":${BIG},"amounts":[1,${BIG}],"more":${BIG}}`,
      '{"any":[9007199254740992,-9007199254740992,123456789012345680,100000000000000000000]}',
      `{"any":["${BIG}","\\"${BIG}",0.12345678901234567890,12345678901234567890.5,1e3]}`,
    ]) {
      const { status, text, object } = await post(engine, body);
      assert.equal(status, 200, text);
      assert.deepEqual(object['result'], JSON.parse(body));
    }
    const infinite = await post(engine, '{"amount":[1,-1e999]}');
    assert.equal(
      infinite.object['Detail'],
      `The number at /amount/1 is larger than any number that the ${engine} engine holds`,
    );
    const malformed = await post(engine, `{"any":${BIG}`);
    assert.equal(malformed.object['Title'], 'Http Message Not Readable');
  });

  test(`${engine}: a body that is nested too deeply for its code is the fault of the caller`, async () => {
    const deep = `${'{"x":'.repeat(200_000)}1${'}'.repeat(200_000)}`;
    const { status, object } = await post(engine, `{"give":"deep","x":${deep}}`);
    assert.deepEqual([status, object['Title']], [400, 'Http Message Not Readable']);
    assert.match(String(object['Detail']), /nested 200001 levels deep/);
  });
}

test('python keeps every integer', async () => {
  const { text } = await post('python', `{"any":${BIG}}`);
  assert.match(text, new RegExp(`"result":\\{"any":${BIG}\\}`));
});

for (const engine of ['javascript', 'node', 'python'] as const) {
  test(`${engine}: a result that holds what no double holds is an error with its place`, async () => {
    const expected: Record<string, string> = {
      big: 'a BigInt at result.a.b[1]',
      boxed: 'a BigInt at result',
      raw: '-Infinity at result[0].x',
      long: 'Infinity at result["a b"]',
    };
    const how = oddIn(engine)
      .map(([name]) => name)
      .filter((name) => name in expected);
    for (const name of how) {
      const { status, object, headers } = await post(engine, `{"give":"${name}"}`);
      assert.equal(headers['kgrid-error'], 'invalid-result');
      assert.deepEqual([status, object['Detail']], [500, `Code execution error: the result holds ${expected[name]}`]);
    }
    const { lines } = await sendBatch(
      service.url,
      pathOf(kos[engine]),
      [...how, 'text'].map((name) => `{"give":"${name}"}`).join('\n'),
    );
    const details = lines.map(({ error }) => error?.Detail);
    assert.deepEqual(details, [
      ...how.map((name) => `Code execution error: the result holds ${expected[name]}`),
      undefined,
    ]);
    assert.equal((await post(engine, '{"give":"text"}')).object['result'], `1e999${'9'.repeat(400)}`);
  });
}
