/** What `check` says of descriptors and examples beyond what an activator reads of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { edit, fromTemplate, kgrid, kgridJson, PROJECT, saidOf, temporaryFolder } from './kgrid.ts';

interface Checked {
  ok: boolean;
  kos: { findings: { severity: string; file: string; line?: number; message: string }[] }[];
}

type Change = (file: (path: string) => string) => Promise<void>;

const service =
  (...changes: [from: string | RegExp, to: string][]): Change =>
  async (file) => {
    for (const [from, to] of changes) await edit(file('service.yaml'), from, to);
  };
const deployment =
  (from: string | RegExp, to: string): Change =>
  (file) =>
    edit(file('deployment.yaml'), from, to);
const examples =
  (from: string | RegExp, to: string): Change =>
  (file) =>
    edit(file('worked-examples.yaml'), from, to);

const NEW = ['openapi: 3.0.3', 'openapi: 3.1.0'] as [string, string];
const SYSTOLIC = /(systolic:\n +type: )number/;

/** What is done to a knowledge object in order, and all that is said then, in the form of `saidOf`. */
const slips: [string, Change, RegExp[]][] = [
  [
    'a key of an endpoint',
    deployment('function:', 'timout: 5\n    function:'),
    [/^deployment\.yaml:«timout: 5» "timout" is no key of an endpoint: did you mean timeout\?$/],
  ],
  [
    'a key of an endpoint that is like none',
    deployment('function:', 'memory: 5\n    function:'),
    [
      /^deployment\.yaml:«memory: 5» "memory" is no key of an endpoint; the keys are engine, artifact, entry, function, isolation, timeout, validate, network, mcp: correct it or take it out$/,
    ],
  ],
  [
    'a network of an engine that has none',
    deployment('function:', 'network: a.example\n    function:'),
    [
      /^deployment\.yaml:«network: a\.example» network is asked for, which the engine javascript has none of: use the engine node/,
    ],
  ],
  [
    'a timeout that the service does not give',
    deployment('engine: javascript', 'engine: node\n    timeout: 11m'),
    [/^deployment\.yaml:«.*» the timeout of \/\w+ is 660 s, which is more than the 600 s that the service allows/],
  ],
  [
    'a method',
    deployment(/$/, '  pots: {artifact: a}\n'),
    [/^deployment\.yaml:«pots: \{artifact: a\}» "pots" is no method: did you mean post\?$/],
  ],
  [
    'a key beside the methods',
    deployment('  post:', '  timeout: 5\n  post:'),
    [
      /^deployment\.yaml:«timeout: 5» "timeout" stands beside the methods, where nothing reads it: put it below one of them$/,
    ],
  ],
  [
    'a key of an operation',
    service(['responses:', 'respones:']),
    [/^service\.yaml:«respones:» "respones" is no key here: did you mean responses\?$/],
  ],
  [
    'a type',
    service([SYSTOLIC, '$1intger']),
    [/^service\.yaml:«type: intger» type is "intger": did you mean integer\?$/],
  ],
  [
    'a type in 3.1',
    service(NEW, [SYSTOLIC, '$1intger']),
    [/^service\.yaml:«type: intger» type is "intger": did you mean integer\?$/],
  ],
  [
    'a text for a list',
    service([/required: \[.*\]/, 'required: text']),
    [/^service\.yaml:«required: text» required must be a list, not the text "text"$/],
  ],
  [
    'a text for a list in 3.1',
    service(NEW, [/required: \[.*\]/, 'required: text']),
    [/^service\.yaml:«required: text» required must be a list, not the text "text"$/],
  ],
  [
    'a key of a schema',
    service(['properties:\n        systolic', 'proprties:\n        systolic']),
    [/^service\.yaml:«proprties:» "proprties" is no key here: did you mean properties\?$/],
  ],
  [
    'a key of a schema in 3.1',
    service(NEW, ['properties:\n        systolic', 'proprties:\n        systolic']),
    [/^service\.yaml:«proprties:» "proprties" is no key here: did you mean properties\?$/],
  ],
  [
    'Swagger',
    service(['openapi: 3.0.3', 'swagger: "2.0"']),
    [/^service\.yaml:«swagger: "2\.0"» this is Swagger 2\.0, not OpenAPI 3: convert it/],
  ],
  [
    'no version of OpenAPI',
    service(['openapi: 3.0.3\n', '']),
    [/^service\.yaml:«info:» openapi is missing: add "openapi: 3\.0\.3"$/],
  ],
  [
    'another version of OpenAPI',
    service(['3.0.3', '"4.0"']),
    [/^service\.yaml:«openapi: "4\.0"» openapi is 4\.0: write the version as 3\.0\.3 or 3\.1\.0/],
  ],
  [
    'a pattern that is none',
    service(['  schemas:\n', "  schemas:\n    Odd: {type: string, pattern: '(', example: x}\n"]),
    [/^service\.yaml:«Odd: \{type: string, pattern: '\(', example: x\}» pattern must match format "regex"$/],
  ],
  [
    'no description',
    service(['          description: The mean arterial pressure.\n', '']),
    [/^service\.yaml:«'200':» responses\[200\] has no description: add it$/],
  ],
  [
    'the place of a parameter',
    service([
      '      requestBody:',
      '      parameters:\n        - {name: a, in: qury, schema: {type: string}}\n      requestBody:',
    ]),
    [/^service\.yaml:«- \{name: a, in: qury, schema: \{type: string\}\}» in is "qury": did you mean query\?$/],
  ],
  [
    'an example',
    service([/example: 120/, 'example: high']),
    [
      /^service\.yaml:«example: high» this example breaks its schema \(line «systolic:»\): it must be a number, not the text "high"$/,
    ],
  ],
  [
    'an example in 3.1',
    service(NEW, [/example: 120/, 'examples: [120, 5]']),
    [/^service\.yaml:«examples: \[120, 5\]» this example breaks its schema \(line «systolic:»\): it must be >= 30$/],
  ],
  [
    'an example of a body',
    service([
      "              $ref: '#/components/schemas/Input'",
      "              $ref: '#/components/schemas/Input'\n            example: {systolic: 120, diastolic: x}",
    ]),
    [
      /^service\.yaml:«example: \{systolic: 120, diastolic: x\}» this example breaks its schema \(line «schema:»\): diastolic must be a number, not the text "x"$/,
    ],
  ],
  [
    'one of the examples of an answer',
    service([
      "                $ref: '#/components/schemas/CallError'",
      "                $ref: '#/components/schemas/CallError'\n              examples: {one: {value: 5}}",
    ]),
    [/^service\.yaml:«examples: \{one: \{value: 5\}\}» this example breaks its schema \(line «schema:»\): /],
  ],
  [
    'the input of a worked example',
    examples('systolic: 120', 'systolic: 1200'),
    [
      /^worked-examples\.yaml:«input: \{ systolic: 1200, diastolic: 80 \}» "120 over 80 mmHg": the input breaks the schema in service\.yaml:«schema:»: systolic must be <= 300$/,
      /^worked-examples\.yaml:«- name: 120 over 80 mmHg» "120 over 80 mmHg": 400 Bad Request: The input breaks the schema of .+: \/systolic: expected a number <= 300, came 1200$/,
    ],
  ],
  [
    'a pattern that no activator checks, and another in a file beside it',
    async (file) => {
      const own = "$1mrn: { type: string, pattern: '(?=m)' }\n$1unit: { $ref: 'more.yaml#/unit' }\n$1diastolic:\n";
      await service([/( +)diastolic:\n/, own])(file);
      await writeFile(file('more.yaml'), "unit:\n  type: string\n  pattern: '(?!g)'\n");
    },
    [
      /^service\.yaml:«mrn: .*» the pattern "\(\?=m\)" is not checked: /,
      /^more\.yaml.*the pattern "\(\?!g\)" is not checked: /,
    ],
  ],
  [
    'a word for checks that is none',
    deployment('validate: enforce', 'validate: strict'),
    [/validate strict: it must be off, log, enforce/],
  ],
  [
    'the result of a worked example',
    examples('unit: mmHg', 'unit: 1'),
    [
      /^worked-examples\.yaml:«expect: \{ meanArterialPressure: 93\.3, unit: 1 \}» "120 over 80 mmHg": the expected result breaks the schema in service\.yaml:«result:»: unit must be text, not 1$/,
      /^worked-examples\.yaml:«- name: 120 over 80 mmHg» "120 over 80 mmHg": unit expected 1, got /,
    ],
  ],
];

/** What real knowledge objects have, and runs: it must be no error, and here nothing is said of it. */
const fine: [string, Change][] = [
  ['a number for the version', service(['version: "1.0"', 'version: 1.0'])],
  [
    'references to elsewhere',
    service(
      [/\$ref: '#\/components\/schemas\/CallError'/, "$ref: 'https://127.0.0.1:9/schemas.json#/CallError'"],
      [/\$ref: '#\/components\/schemas\/Result'/, '$ref: other.yaml'],
    ),
  ],
  ['odd defaults', service([SYSTOLIC, '$1number\n          default: [none]'])],
  ['no types', service([/(systolic:\n) +type: number\n/, '$1'])],
  ['keys of its own', service(['info:\n', 'x-mine: {a: 1}\ninfo:\n'])],
  ['3.1', service(NEW, [SYSTOLIC, '$1[number, "null"]'])],
  ['null in 3.0', service([SYSTOLIC, '$1number\n          nullable: true'], ['example: 120', 'example: null'])],
  ['an exclusive limit in 3.0', service(['minimum: 30', 'minimum: 30\n          exclusiveMinimum: true'])],
  [
    'a reference with more beside it',
    service([
      "$ref: '#/components/schemas/Result'",
      "$ref: '#/components/schemas/Result'\n                    description: more",
    ]),
  ],
  [
    'a reference to itself',
    service([
      /( +)properties:\n( +)systolic:/,
      "$1properties:\n$2before: {$ref: '#/components/schemas/Input'}\n$2systolic:",
    ]),
  ],
  [
    'the result alone as the answer',
    service([/type: object\n +properties:\n +result:\n +\$ref: ('#.*Result')\n +info:\n.*\n/, '$ref: $1\n']),
  ],
  [
    'an example that is a reference',
    service(
      [
        "              $ref: '#/components/schemas/Input'",
        "              $ref: '#/components/schemas/Input'\n            examples: {one: {$ref: '#/components/examples/One'}}",
      ],
      ['components:\n', 'components:\n  examples: {One: {value: {}}}\n'],
    ),
  ],
  [
    'the older shape of a deployment',
    async (file) =>
      writeFile(
        file('deployment.yaml'),
        'endpoints:\n  /calculate: {artifact: src/index.js, engine: {name: javascript}, function: calculate}\n',
      ),
  ],
];

test('each mistake in a descriptor or an example is named by file and line, with the remedy', async () => {
  await using folder = await temporaryFolder();
  const all = [...slips, ...fine.map(([what, change]) => [what, change, []] as (typeof slips)[number])];
  const named: string[] = [];
  for (const [i, [, change]] of all.entries()) {
    const ko = await fromTemplate('javascript', folder.path, `ko${i + 1}`);
    await change((path) => join(ko, path));
    named.push(ko);
  }
  const { json } = await kgridJson<Checked>(['check', ...named]);
  const wrong: string[][] = [];
  for (const [i, { findings }] of json.kos.entries()) {
    const [what = '', , said = []] = all[i] ?? [];
    const words = await Promise.all(findings.map((each) => saidOf(named[i] ?? '', each)));
    const isRight = words.length === said.length && said.every((each) => words.some((word) => each.test(word)));
    if (!isRight) wrong.push([what, ...words]);
  }
  assert.deepEqual(wrong, []);
});

test('with --strict a warning is enough to fail', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'odd');
  assert.deepEqual((await kgrid(['check', ko, '--strict'])).code, 0);
  await edit(join(ko, 'deployment.yaml'), 'function:', 'timout: 5\n    function:');
  const [lenient, strict] = await Promise.all([
    kgridJson<Checked>(['check', ko]),
    kgridJson<Checked>(['check', ko, '--strict']),
  ]);
  assert.deepEqual([lenient.code, lenient.json.ok, strict.code, strict.json.ok], [0, true, 1, false]);
});

test('the examples of the project have nothing but the one mistake that is there on purpose', async () => {
  const { json } = await kgridJson<Checked>(['check', join(PROJECT, 'examples')]);
  const said = json.kos.flatMap(({ findings }) => findings).map(({ file, line }) => `${file}:${line ?? ''}`);
  assert.deepEqual(new Set(said), new Set(['deployment.yaml:8', 'service.yaml:56', 'src/syntax-error.js:3']));
});
