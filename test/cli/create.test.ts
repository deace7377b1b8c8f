import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENGINE_NAMES } from '../../src/check/engines.ts';
import { edit, filesIn, fromTemplate, kgrid, kgridJson, temporaryFolder } from './kgrid.ts';

interface Checked {
  kos: {
    ko: string;
    findings: { file: string; line?: number; message: string }[];
    examples: { passed: number; failed: number; notRun: number };
  }[];
}

interface CheckedSecond {
  kos: (Checked['kos'][number] & { generation: number; advice: string[] })[];
}

test('what create makes from each template passes its own check and test', async () => {
  await using folder = await temporaryFolder();
  const engines = ENGINE_NAMES;
  const created = await Promise.all(
    engines.map((engine) => kgrid(['create', `my-${engine}`, '--engine', engine], { cwd: folder.path })),
  );
  for (const [i, { code, stdout, stderr }] of created.entries()) {
    assert.deepEqual([code, stderr], [0, '']);
    const engine = engines[i] ?? '';
    assert.match(stdout, new RegExp(`^Created my-${engine}/: example/my${engine}/v1.0, engine ${engine}\n`));
    assert.match(stdout, new RegExp(`npx kgrid play  my-${engine} `));
  }
  await using others = await temporaryFolder();
  const wrong = ['node', 'python'].map(async (engine) => {
    const ko = await fromTemplate(engine, others.path, engine);
    await edit(join(ko, 'deployment.yaml'), 'function: calculate', 'function: calc');
    if (engine === 'node') await edit(join(ko, 'src/index.js'), 'module.exports =', 'exports.calculate =');
    return ko;
  });
  const { code, json } = await kgridJson<Checked>(['check', '.', '--run', ...(await Promise.all(wrong))], {
    cwd: folder.path,
  });
  assert.equal(code, 1);
  const leftToSay = [
    'README.md this text is still that of the template: say it in words of your own',
    'metadata.json description is still that of the template: say it in words of your own',
    'service.yaml description is still that of the template: say it in words of your own',
  ];
  const said = json.kos.splice(-2).flatMap(({ findings }) => findings.map(({ message }) => message));
  assert.match(said.join('\n'), /has no function calc; it exports calculate.*\n.*calc is not .*; it has: .*calculate/);
  assert.deepEqual(
    json.kos.map(({ ko, findings, examples }) => [
      ko,
      findings.map(({ file, message }) => `${file} ${message}`),
      examples.passed > 0,
      examples.failed + examples.notRun,
    ]),
    engines.map((engine) => [`example/my${engine}/v1.0`, leftToSay, true, 0]),
  );
});

test('ids come from options before the name of the folder', async () => {
  await using folder = await temporaryFolder();
  const made = async (...args: string[]): Promise<unknown> =>
    (await kgridJson<{ ko: string }>(['create', ...args], { cwd: folder.path })).json.ko;
  assert.deepEqual(
    await Promise.all([
      made('my score_2'),
      made('cardiology-risk-v1.10'),
      made('a-b-c'),
      made('x-y-1.0', '--name', 'z', '--version', '2022', '--title', 'A "quoted" \\ title'),
      made('deep/er', '--naan', '99999'),
    ]),
    ['example/myscore2/v1.0', 'cardiology/risk/v1.10', 'example/abc/v1.0', 'x/z/2022', '99999/er/v1.0'],
  );
  const metadata = JSON.parse(await readFile(join(folder.path, 'x-y-1.0/metadata.json'), 'utf8')) as object;
  assert.ok('title' in metadata && metadata.title === 'A "quoted" \\ title');
  const { code, stdout } = await kgrid(['check', '.'], { cwd: folder.path });
  assert.equal(code, 0, stdout);
  assert.match(await readFile(join(folder.path, 'cardiology-risk-v1.10/service.yaml'), 'utf8'), /version: "1\.10"/);
});

test('nothing that is there is overwritten', async () => {
  await using folder = await temporaryFolder();
  const { path } = folder;
  await mkdir(join(path, 'empty'));
  await mkdir(join(path, 'full'));
  await writeFile(join(path, 'full/notes.txt'), 'mine');
  await writeFile(join(path, 'file'), 'mine');
  const [empty, full, file] = await Promise.all(
    ['empty', 'full', 'file'].map((each) => kgrid(['create', each], { cwd: path })),
  );
  assert.equal(empty?.code, 0);
  for (const refused of [full, file]) {
    assert.equal(refused?.code, 2);
    assert.match(refused.stderr, /is there already and not empty: choose another folder/);
  }
  assert.deepEqual(await filesIn(join(path, 'full')), ['notes.txt']);
});

test('an id that cannot be used is refused before anything is made', async () => {
  await using folder = await temporaryFolder();
  const refusals = await Promise.all([
    kgrid(['create', 'x', '--naan', 'a/b'], { cwd: folder.path }),
    kgrid(['create', '_'], { cwd: folder.path }),
    kgrid(['create', 'x', '--naan', 'kos'], { cwd: folder.path }),
  ]);
  assert.deepEqual(
    refusals.map(({ code }) => code),
    [2, 2, 2],
  );
  assert.match(
    refusals.map(({ stderr }) => stderr).join(''),
    /give --naan in .*give --name in .*path of the activator/s,
  );
  assert.deepEqual(await filesIn(folder.path), []);
});

test('a knowledge object of the second generation is made in JavaScript, TypeScript and as a package of Python', async () => {
  await using folder = await temporaryFolder();
  const create = (...args: string[]) => kgrid(['create', ...args, '--model', '2'], { cwd: folder.path });
  const title = 'A "quoted" \\ title';
  const made = await Promise.all([
    create('js'),
    create('ts', '--typescript', '--title', title),
    create('json', '--engine', 'python'),
    create('wrong', '--engine', 'node'),
    create('wrong', '--engine', 'python', '--typescript'),
  ]);
  assert.deepEqual(
    made.map(({ code }) => code),
    [0, 0, 0, 2, 2],
  );
  assert.match(made.map(({ stderr }) => stderr).join(''), /no engine node: use .*--typescript is for .* javascript/s);
  assert.ok((await filesIn(join(folder.path, 'json'))).includes('ko_json/main.py'));
  const { json } = await kgridJson<CheckedSecond>(['check', '.', '--run'], { cwd: folder.path });
  assert.deepEqual(
    json.kos.map(({ ko, generation, examples }) => [
      ko,
      generation,
      examples.passed,
      examples.failed + examples.notRun,
    ]),
    ['js', 'json', 'ts'].map((name) => [`example/${name}/v1.0`, 2, 3, 0]),
    JSON.stringify(json),
  );
  for (const { advice, findings } of json.kos) {
    assert.deepEqual(advice, ['a licence (dc:license)', 'evidence (koio:hasKnowledge with dc:source and dc:date)']);
    assert.deepEqual(
      findings.map(({ file, message }) => `${file}: ${message.split(' ', 1)[0] ?? ''}`),
      ['README.md: this', 'metadata.json: dc:description', 'service.yaml: description'],
    );
  }
});
