import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyService } from './empty-service.ts';
import { edit, fromTemplate, kgrid, kgridJson, kgridProcess, PROJECT, startKgrid, temporaryFolder } from './kgrid.ts';
import { longTest } from '../support/round.ts';

interface Tested {
  ok: boolean;
  passed: number;
  failed: number;
  kos: {
    source: string;
    ko: string | null;
    problems: { file: string; message: string }[];
    examples: { passed: boolean }[];
  }[];
}

const example = (name: string): string => join(PROJECT, 'examples', name);

test('what an example expected and what came stand below it, and the exit code is 1', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'map');
  await edit(join(ko, 'src/index.js'), '2 * diastolic', '3 * diastolic');
  await edit(join(ko, 'src/index.js'), '// Mean', 'console.log("loaded once");\n// Mean');
  await writeFile(
    join(ko, 'worked-examples.yaml'),
    `- name: Differs
  endpoint: /calculate
  input: { systolic: 120, diastolic: 80 }
  expect: { meanArterialPressure: 93.3, unit: mmHg }
- name: Near enough
  endpoint: /calculate
  input: { systolic: 120, diastolic: 80 }
  expect: { meanArterialPressure: 119.5 }
  tolerance: 0.5
- name: Does not fail
  endpoint: /calculate
  input: { systolic: 120, diastolic: 80 }
  expectError: must be
- name: Fails
  endpoint: /calculate
  input: {}
  expect: 1
`,
  );
  const { code, stdout, stderr } = await kgrid(['test', 'map'], { cwd: folder.path });
  assert.equal(code, 1);
  assert.deepEqual(stdout.replace(/\d+ ms/g, 'n ms').split('\n'), [
    'test/map/v1.0  map',
    'map/worked-examples.yaml:16: warning: "Fails": the input breaks the schema in service.yaml:20: it has no systolic: add it',
    'map/worked-examples.yaml:16: warning: "Fails": the input breaks the schema in service.yaml:20: it has no diastolic: add it',
    'map/worked-examples.yaml:17: warning: "Fails": the expected result breaks the schema in service.yaml:30: it must be a map, not 1',
    '  FAIL  Differs  map/worked-examples.yaml:1',
    '        meanArterialPressure  expected 93.3, got 120',
    '  ok    Near enough  n ms',
    '  FAIL  Does not fail  map/worked-examples.yaml:10',
    '        expected an error with "must be", got {"meanArterialPressure":120,"unit":"mmHg"}',
    '  FAIL  Fails  map/worked-examples.yaml:14',
    '        400 Bad Request: The input breaks the schema of test/map/1.0/calculate: /systolic: expected number, came nothing; /diastolic: expected number, came nothing',
    '',
    '4 examples: 1 passed, 3 failed',
    '',
  ]);
  assert.match(stderr, /^test\/map\/v1\.0 \| loaded once$/m, 'what the code prints is shown');
});

test('knowledge objects that are called come with --with; without them the call fails', async () => {
  const caller = example('cpic-clopidogrelbygenotype-v1.0');
  const called = [example('cpic-clopidogrel-v1.0'), example('cpic-cyp2c19-v1.0')];
  const [alone, together] = await Promise.all([
    kgridJson<Tested>(['test', caller]),
    kgridJson<Tested>(['test', caller, '--with', ...called]),
  ]);
  assert.deepEqual([alone.code, together.code], [1, 0]);
  assert.ok(alone.json.failed > 0);
  assert.deepEqual([together.json.failed, together.json.passed > 2, together.json.kos.length], [0, true, 1]);
});

test('what cannot be tried is no success', async () => {
  await using folder = await temporaryFolder();
  const silent = await fromTemplate('javascript', folder.path, 'silent');
  await writeFile(join(silent, 'worked-examples.yaml'), '# later\n');
  const broken = await fromTemplate('javascript', folder.path, 'broken');
  await edit(join(broken, 'metadata.json'), '"@id"', '"id"');
  const dead = await fromTemplate('javascript', folder.path, 'dead');
  await edit(join(dead, 'src/index.js'), 'const mean', 'const const mean');
  await writeFile(join(folder.path, 'no.zip'), 'no zip');
  const { code, json } = await kgridJson<Tested>(['test', silent, broken, dead, join(folder.path, 'no.zip')]);
  assert.equal(code, 1);
  const [ofSilent, ofBroken, ofDead, ofZip] = json.kos;
  assert.match(ofSilent?.problems[0]?.message ?? '', /there are no worked examples, so nothing was tried/);
  assert.match(ofBroken?.problems[0]?.message ?? '', /has no @id/);
  assert.deepEqual(
    ofDead?.examples.map(({ passed }) => passed),
    [false, false, false],
  );
  assert.match(ofDead.problems[0]?.message ?? '', /^SyntaxError/);
  assert.match(ofZip?.problems[0]?.message ?? '', /The zip file/);
});

longTest('examples run at an activator elsewhere, also where two versions share an API version', async () => {
  await using folder = await temporaryFolder();
  const older = await fromTemplate('javascript', folder.path, 'twin');
  const newer = await fromTemplate('javascript', join(folder.path, 'newer'), 'twin');
  for (const file of ['metadata.json', 'metadata.json', 'metadata.json']) await edit(join(newer, file), 'v1.0', 'v2.0');
  await edit(join(older, 'src/index.js'), "unit: 'mmHg'", "unit: 'older'");
  await edit(join(older, 'worked-examples.yaml'), 'unit: mmHg', 'unit: older');
  const service = await emptyService();
  const push = await kgrid(['push', older, newer, '--url', service.url]);
  assert.equal(push.code, 0, push.stdout + push.stderr);
  const { code, json } = await kgridJson<Tested>(['test', older, newer, '--url', service.url]);
  assert.deepEqual([code, json.passed, json.failed], [0, 6, 0]);
});

test('why an endpoint does not run stands before the examples that fail for it, as check says it', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const lost = await fromTemplate('javascript', cwd, 'lost');
  await edit(join(lost, 'deployment.yaml'), '/calculate:', '/calcualte:');
  const foreign = await fromTemplate('javascript', cwd, 'foreign');
  await edit(join(foreign, 'deployment.yaml'), 'engine: javascript', 'engine: js');
  const [tested, checked] = await Promise.all([
    kgrid(['test', 'lost', 'foreign'], { cwd }),
    kgrid(['check', 'lost', 'foreign'], { cwd }),
  ]);
  assert.equal(tested.code, 1);
  const place = (name: string): RegExp => new RegExp(`^${name}/deployment\\.yaml:3: `);
  for (const name of ['lost', 'foreign']) {
    const said = tested.stdout.split('\n').find((line) => place(name).test(line)) ?? 'nothing';
    assert.ok(checked.stdout.replaceAll(': warning: ', ': ').includes(`${said}\n`), said);
    assert.ok(tested.stdout.indexOf(said) < tested.stdout.indexOf(`FAIL  120 over 80 mmHg  ${name}/`), tested.stdout);
  }
  assert.match(tested.stdout, /^6 examples: 0 passed, 6 failed; 5 problems$/m);
});

longTest('a folder of knowledge objects that are called may hold the one that is tested', async () => {
  await using folder = await temporaryFolder();
  const one = await fromTemplate('javascript', folder.path, 'one');
  await fromTemplate('javascript', folder.path, 'other');
  const { code, json } = await kgridJson<Tested>(['test', one, '--with', folder.path]);
  assert.deepEqual([code, json.passed, json.kos.length], [0, 3, 1]);
});

test('a failure of code names its file and line in test, check and play', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const broken: [engine: string, file: string, code: string][] = [
    ['node', 'src/index.js', 'null.bad;'],
    ['python', 'src/main.py', 'None.bad'],
  ];
  const expected: RegExp[] = [];
  for (const [engine, file, code] of broken) {
    const path = join(await fromTemplate(engine, cwd, engine), file);
    const lines = (await readFile(path, 'utf8')).split('\n');
    const line = lines.findIndex((each) => /return .*mean/i.test(each));
    lines.splice(line, 0, `    ${code}`);
    await writeFile(path, lines.join('\n'));
    expected.push(new RegExp(`${engine}/worked-examples\\.yaml:2[^]*?Error: .* \\(${file} line ${line + 1}\\)`));
  }
  const engines = broken.map(([engine]) => engine);
  const [tested, checked] = await Promise.all([
    kgrid(['test', ...engines], { cwd }),
    kgrid(['check', '--run', ...engines], { cwd }),
  ]);
  for (const each of expected) {
    assert.match(tested.stdout, each);
    assert.match(checked.stdout, each);
  }
  await using play = startKgrid(['play', 'node', '--port', '0'], { cwd });
  const loaded = await play.next(({ event }) => event === 'loaded');
  assert.match(JSON.stringify(loaded['examples']), /\(src\/index\.js line \d+\)/);
});

longTest('a home that cannot be written to is said with what to do, for code that needs a folder', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('python', folder.path, 'map');
  // Below a file nobody can make a folder, not even root.
  const home = join(folder.path, 'home');
  await writeFile(home, '');
  const { code, stdout } = await kgridProcess(['test', ko], { env: { HOME: home } });
  assert.equal(code, 1);
  assert.match(stdout, /the folder for what the engine needs cannot be written to \(ENOTDIR\): let .* set HOME/);
  assert.ok(!stdout.includes(join(home, '.cache')), stdout);
});
