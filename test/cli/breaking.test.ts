/** What goes wrong most often in a knowledge object, and what `check` says of it: the place, and how to fix it. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { edit, fromTemplate, kgridJson, saidOf, temporaryFolder } from './kgrid.ts';

interface Finding {
  severity: string;
  file: string;
  line?: number;
  message: string;
}

interface Checked {
  ok: boolean;
  kos: { source: string; findings: Finding[]; examples: { passed: number; notRun: number } }[];
}

type Break = (file: (path: string) => string) => Promise<void>;

/** What is done to it; and the first problem that is named, in the form of `saidOf`. */
const mistakes: [string, Break, RegExp][] = [
  [
    'a missing comma in JSON',
    (file) => edit(file('metadata.json'), '"version": "v1.0",', '"version": "v1.0"'),
    /^metadata\.json:«"title": "wrong\d+",» not valid JSON: Expected ',' or '}' after property value/,
  ],
  [
    'an @id that is none',
    (file) => edit(file('metadata.json'), /"@id": ".*"/, '"@id": "test/my-score/v1.0"'),
    /^metadata\.json:«"@id": "test\/my-score\/v1\.0",» @id .* must be "<naan>\/<name>\/<version>", each part 1 to 64 letters, digits and periods/,
  ],
  [
    'an @id of another knowledge object',
    (file) => edit(file('metadata.json'), /"@id": ".*"/, '"@id": "test/other/v1.0"'),
    /^metadata\.json:«"identifier": "ark:\/test\/wrong\d+\/v1\.0",» identifier .* expected ark:\/test\/other\/v1\.0/,
  ],
  [
    'another version',
    (file) => edit(file('metadata.json'), '"version": "v1.0"', '"version": "v1.1"'),
    /^metadata\.json:«"version": "v1\.1",» version in metadata\.json is v1\.1, but @id ends with v1\.0: make them the same/,
  ],
  [
    'a slip in the name of a descriptor',
    (file) => edit(file('metadata.json'), '"service.yaml"', '"services.yaml"'),
    /^metadata\.json:«"hasServiceSpecification": "services\.yaml",» services\.yaml, .*hasServiceSpecification .* not in the package: add it or correct the name/,
  ],
  [
    'a slip in the path of an endpoint',
    (file) => edit(file('deployment.yaml'), '/calculate:', '/calcualte:'),
    /^deployment\.yaml:«post:» \/calcualte is not among the paths of service\.yaml, which are: \/calculate/,
  ],
  [
    'the name of a function that is not there',
    (file) => edit(file('deployment.yaml'), 'function: calculate', 'function: calc'),
    /^deployment\.yaml:«post:» \/calculate: there is no function 'calc' in src\/index\.js; it has: .*calculate/,
  ],
  [
    'an artifact that is not there',
    (file) => edit(file('deployment.yaml'), 'src/index.js', 'src/main.js'),
    /^deployment\.yaml:«post:» src\/main\.js is not in the package: add it or correct the name/,
  ],
  [
    'an artifact that stays behind',
    async (file) => {
      await edit(file('deployment.yaml'), 'src/index.js', 'node_modules/index.js');
      await mkdir(file('node_modules'));
      await copyFile(file('src/index.js'), file('node_modules/index.js'));
    },
    /^deployment\.yaml:«post:» node_modules\/index\.js is not in the package: .*node_modules\/ is left out of packages/,
  ],
  [
    'a wrong indentation in YAML',
    (file) => edit(file('deployment.yaml'), '    engine:', '   engine:'),
    /^deployment\.yaml:«engine: javascript» not valid YAML: /,
  ],
  [
    'a tab in YAML',
    (file) => edit(file('service.yaml'), '  /calculate:', '\t/calculate:'),
    /^service\.yaml:«\/calculate:» not valid YAML: .*[Tt]ab/,
  ],
  [
    'a wrong address of the server',
    (file) => edit(file('service.yaml'), /url: \/test\/\w+/, 'url: /tests/other'),
    /^service\.yaml:«servers:» servers\[0\]\.url .* is \/tests\/other: expected \/test\/wrong12 or \/test\/wrong12\/1\.0/,
  ],
  [
    'a wrong method',
    (file) => edit(file('deployment.yaml'), 'post:', 'get:'),
    /^deployment\.yaml:«get:» GET \/calculate is not in service\.yaml, which has for this path: POST/,
  ],
  [
    'an engine with a slip of the pen',
    (file) => edit(file('deployment.yaml'), 'engine: javascript', 'engine: javasript'),
    /^deployment\.yaml:«post:» engine javasript is not known here; engines: (?:\w+, )+\w+; did you mean javascript\?$/,
  ],
  [
    'an engine that nobody has',
    (file) => edit(file('deployment.yaml'), 'engine: javascript', 'engine: julia'),
    /^deployment\.yaml:«post:» \/calculate asks for the engine julia, which is none of (?:\w+, )+\w+: /,
  ],
  [
    'a syntax error in the code',
    (file) => edit(file('src/index.js'), 'const mean = (', 'const mean = (('),
    /^src\/index\.js:«const mean = \(\(systolic \+ 2 \* diastolic\) \/ 3;» SyntaxError: Unexpected token ';'/,
  ],
  [
    'TypeScript',
    (file) => edit(file('src/index.js'), 'calculate(input)', 'calculate(input: Input)'),
    /^src\/index\.js:«function calculate\(input: Input\) \{» SyntaxError: Unexpected token ':'; TypeScript is run from files whose names end with \.ts: rename it, or compile it to JavaScript$/,
  ],
  [
    'code that fails when it is loaded',
    (file) => edit(file('src/index.js'), /^/, "const fs = require('fs');\n"),
    /^src\/index\.js:«const fs = require\('fs'\);» ReferenceError: require is not available in the javascript engine; the engine node has what Node has/,
  ],
  [
    'a bad media type',
    (file) => edit(file('service.yaml'), 'application/json', 'application/jsn'),
    /^service\.yaml:«post:» \/calculate takes application\/jsn, but the example in worked-examples\.yaml:«- name: 120 over 80 mmHg» sends application\/json: correct/,
  ],
  [
    'a metadata file that is not there',
    (file) => rm(file('metadata.json')),
    /^metadata\.json: The package has no metadata\.json/,
  ],
  [
    'an example that is wrong',
    (file) => edit(file('worked-examples.yaml'), 'meanArterialPressure: 93.3', 'meanArterialPressure: 39.3'),
    /^worked-examples\.yaml:«- name: 120 over 80 mmHg» "120 over 80 mmHg": meanArterialPressure expected 39\.3, got 93\.3/,
  ],
  [
    'an example of another endpoint',
    (file) => edit(file('worked-examples.yaml'), 'endpoint: /calculate', 'endpoint: /compute'),
    /^worked-examples\.yaml:«- name: 120 over 80 mmHg» "120 over 80 mmHg" calls \/compute, .* it deploys: \/calculate/,
  ],
  [
    'an example with a slip in a key',
    (file) => edit(file('worked-examples.yaml'), 'expect:', 'expected:'),
    /^worked-examples\.yaml:«expected: \{ meanArterialPressure: 93\.3, unit: mmHg \}» "expected" is no key of an example; the keys are .*expect,/,
  ],
  [
    'a descriptor in Latin-1',
    (file) => saveAs('latin1', file('service.yaml'), (text) => text.replace('paths:', 'x-by: José\npaths:')),
    /^service\.yaml:«x-by: Jos.» not UTF-8 text: save it as UTF-8$/,
  ],
  [
    'metadata in Latin-1',
    (file) => saveAs('latin1', file('metadata.json'), (text) => text.replace('"contributors": ""', '"by": "José"')),
    /^metadata\.json:«"by": "Jos.",» not UTF-8 text: save it as UTF-8$/,
  ],
  [
    'worked examples in UTF-16',
    (file) => saveAs('utf16le', file('worked-examples.yaml'), (text) => text),
    /^worked-examples\.yaml:«#[^»]*» not UTF-8 text: save it as UTF-8$/,
  ],
  [
    'code in Latin-1',
    (file) => saveAs('latin1', file('src/index.js'), (text) => `${text}// José\n`),
    /^src\/index\.js:«\/\/ Jos.» not UTF-8 text: save it as UTF-8$/,
  ],
  [
    'an artifact in another case and folder',
    (file) => edit(file('deployment.yaml'), 'src/index.js', 'Index.js'),
    /^deployment\.yaml:«post:» Index\.js is not in the package: add it or correct the name; there is src\/index\.js$/,
  ],
];

async function saveAs(encoding: BufferEncoding, file: string, change: (text: string) => string): Promise<void> {
  await writeFile(file, change(await readFile(file, 'utf8')), encoding);
}

test('each common mistake is named by file and line, with the remedy', async () => {
  await using folder = await temporaryFolder();
  const named: string[] = [];
  for (const [i, [, breakIt]] of mistakes.entries()) {
    const ko = await fromTemplate('javascript', folder.path, `wrong${i + 1}`);
    await breakIt((path) => join(ko, path));
    named.push(ko);
  }
  const { code, json } = await kgridJson<Checked>(['check', ...named]);
  assert.equal(code, 1);
  for (const [i, { findings }] of json.kos.entries()) {
    const [what = '', , said = /^$/] = mistakes[i] ?? [];
    const [first] = findings.filter(({ severity }) => severity === 'problem');
    const words = first === undefined ? 'nothing' : await saidOf(named[i] ?? '', first);
    assert.match(words, said, `${what}: ${JSON.stringify(findings)}`);
  }
});

test('one run names everything that is wrong, not only the first', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'all');
  await edit(join(ko, 'metadata.json'), 'ark:/test', 'ark:/other');
  await edit(join(ko, 'metadata.json'), '"version": "v1.0"', '"version": "v2.0"');
  await edit(join(ko, 'service.yaml'), 'url: /test', 'url: /tests');
  await writeFile(
    join(ko, 'deployment.yaml'),
    '/one: {post: {artifact: src/index.js, engine: javascript, function: f}}\n/two: {post: {artifact: [gone.js, lost.js], timeout: x}}\n',
  );
  await edit(join(ko, 'src/index.js'), 'function calculate(input) {', 'function calculate(input {');
  await writeFile(
    join(ko, 'worked-examples.yaml'),
    '- name: x\n  endpoint: /calculate\n  input: 1\n  expect: 1\n- y\n',
  );
  const { json } = await kgridJson<Checked>(['check', ko]);
  const problems = json.kos.flatMap(({ findings }) => findings).filter(({ severity }) => severity === 'problem');
  assert.deepEqual(
    await Promise.all(problems.map((each) => saidOf(ko, { ...each, message: each.message.slice(0, 22) }))),
    [
      'deployment.yaml:«/one: {post: {artifact: src/index.js, engine: javascript, function: f}}» /one is not among the ',
      'deployment.yaml:«/two: {post: {artifact: [gone.js, lost.js], timeout: x}}» gone.js is not in the ',
      'deployment.yaml:«/two: {post: {artifact: [gone.js, lost.js], timeout: x}}» lost.js is not in the ',
      'deployment.yaml:«/two: {post: {artifact: [gone.js, lost.js], timeout: x}}» /two names no engine: ',
      'deployment.yaml:«/two: {post: {artifact: [gone.js, lost.js], timeout: x}}» /two has the timeout x',
      'metadata.json:«"identifier": "ark:/other/all/v1.0",» identifier in metadata',
      'metadata.json:«"version": "v2.0",» version in metadata.js',
      'service.yaml:«servers:» servers[0].url in serv',
      'src/index.js:«function calculate(input {» SyntaxError: Unexpecte',
      'worked-examples.yaml:«- name: x» "x" calls /calculate, ',
      'worked-examples.yaml:«- y» this entry is no examp',
    ],
  );
});

test('what an author probably did not mean is a warning, and no problem', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'odd');
  await edit(join(ko, 'metadata.json'), /\s+"hasPayload": .*/, '');
  await edit(join(ko, 'metadata.json'), /\s+"title": .*/, '');
  await edit(
    join(ko, 'service.yaml'),
    'paths:',
    'paths:\n  /forgotten: {post: {responses: {default: {description: x}}}}',
  );
  await rm(join(ko, 'worked-examples.yaml'));
  const julia = await fromTemplate('javascript', folder.path, 'foreign');
  await edit(join(julia, 'deployment.yaml'), 'engine: javascript', 'engine: julia');
  const { code, json } = await kgridJson<Checked>(['check', ko, julia, '--engine', 'Julia']);
  assert.equal(code, 0);
  assert.deepEqual(
    json.kos.map(({ findings, examples }) => [
      findings.map(({ severity, file, line, message }) => `${severity} ${file}:${line ?? ''} ${message.slice(0, 24)}`),
      examples.notRun,
    ]),
    [
      [
        [
          'warning metadata.json: hasPayload is missing: a',
          'warning metadata.json: title is missing: lists ',
          'warning service.yaml:11 /forgotten is described ',
          'warning worked-examples.yaml: there are no worked exam',
        ],
        0,
      ],
      // Said to be there.
      [[], 3],
    ],
  );
});
