/** What `check` says beside the mistakes of `breaking.test.ts`. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { zipOf } from '../acceptance/support/ko.ts';
import { edit, filesIn, fromTemplate, kgrid, temporaryFolder } from './kgrid.ts';

test('code that was not tried is no silent success', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await fromTemplate('python', cwd, 'model');
  const foreign = await fromTemplate('javascript', cwd, 'foreign');
  await edit(join(foreign, 'deployment.yaml'), 'engine: javascript', 'engine: julia');
  const { code, stdout } = await kgrid(['check', 'model', 'foreign', '--engine', 'julia'], { cwd });
  assert.equal(code, 0);
  assert.deepEqual(
    stdout.split('\n').filter((line) => line.startsWith('test/')),
    [
      'test/model/v1.0: no problems, 3 worked examples not run (the code of engine python was not tried: --run does)',
      'test/foreign/v1.0: no problems, 3 worked examples not run (the code of engine julia was not tried: it is not available here)',
    ],
  );
});

test('what descriptors say twice, to nowhere or under no address is warned of', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'odd');
  await edit(join(ko, 'metadata.json'), '  "keywords"', '  "title": "Again",\n  "keywords"');
  await edit(join(ko, 'service.yaml'), '  /calculate:', '  calculate:');
  await edit(join(ko, 'service.yaml'), 'schemas/Input', 'schemas/Inptu');
  await edit(join(ko, 'deployment.yaml'), '    engine: javascript', '    engine: node\n    engine: javascript');
  const { code, stdout } = await kgrid(['check', 'odd'], { cwd: folder.path });
  assert.equal(code, 0, stdout);
  assert.deepEqual(stdout.split('\n').slice(0, -3), [
    'odd/deployment.yaml:6: warning: "engine" stands in line 5 already: only the last one counts, take one of them out',
    'odd/metadata.json:8: warning: "title" stands in line 6 already: only the last one counts, take one of them out',
    'odd/service.yaml:12: warning: the path calculate has no slash in front: write /calculate',
    'odd/service.yaml:21: warning: #/components/schemas/Inptu is not in this file: add it or correct the name',
  ]);
});

test('a folder is examined to its end, and what is left out is named', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await fromTemplate('javascript', join(cwd, 'shelf/left'), 'same');
  await fromTemplate('javascript', join(cwd, 'shelf/right'), 'same');
  await edit(join(cwd, 'shelf/right/same/src/index.js'), 'const mean', 'const const mean');
  await fromTemplate('javascript', join(cwd, 'shelf'), 'good');
  await fromTemplate('javascript', join(cwd, 'shelf/a/b/c'), 'deep');
  await writeFile(join(cwd, 'shelf/packed.zip'), '');
  const { code, stdout, stderr } = await kgrid(['check', 'shelf', 'shelf/good'], { cwd });
  assert.equal(code, 1);
  const lines = stdout.split('\n').slice(0, -1);
  const isAdvice = (line: string): boolean => line.startsWith('  read as generation 1; ');
  assert.equal(lines.filter(isAdvice).length, 3);
  assert.deepEqual(
    lines.filter((line) => !isAdvice(line)),
    [
      'test/good/v1.0: no problems, 3 worked examples passed',
      'shelf/left/same/metadata.json:2: @id is test/same/v1.0, as in shelf/right/same: give one of them another name or version',
      'test/same/v1.0: 1 problem, 3 worked examples not run',
      'shelf/right/same/metadata.json:2: @id is test/same/v1.0, as in shelf/left/same: give one of them another name or version',
      "shelf/right/same/src/index.js:24: SyntaxError: Unexpected token 'const'",
      'test/same/v1.0: 2 problems, 3 worked examples not run',
    ],
  );
  assert.deepEqual(stderr.split('\n').slice(0, -1), [
    'shelf/packed.zip is left out: name the archive itself',
    'shelf/a/b/c/deep is left out: it is more than three levels deep, name it itself',
  ]);
});

test('hasPayload of an artifact that is missing is not said twice', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'map');
  await edit(join(ko, 'deployment.yaml'), 'src/index.js', 'src/main.js');
  await edit(join(ko, 'metadata.json'), 'src/index.js', './src/main.js');
  const { stdout } = await kgrid(['check', 'map'], { cwd: folder.path });
  assert.equal(stdout.split('\n').length, 4, stdout);
});

test('files that nobody means to publish are named, in a folder and in a zip', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const ko = await fromTemplate('javascript', cwd, 'map');
  await mkdir(join(ko, 'src/node_modules/x'), { recursive: true });
  await mkdir(join(ko, '.git'));
  const added = ['.git/HEAD', '.env', 'src/node_modules/x/index.js'];
  for (const file of added) await writeFile(join(ko, file), '');
  const content: Record<string, string> = {};
  for (const path of await filesIn(ko)) content[path] = await readFile(join(ko, path), 'utf8');
  await writeFile(join(cwd, 'map.zip'), await zipOf(content));
  const [ofFolder, ofZip] = await Promise.all(['map', 'map.zip'].map((each) => kgrid(['check', each], { cwd })));
  // What git keeps in a folder is not served from there.
  assert.match(ofFolder?.stdout ?? '', /^map: warning: \.env, src\/node_modules\/ can be read by anybody where /);
  assert.match(ofZip?.stdout ?? '', /^map\.zip: warning: \.env, \.git\/, src\/node_modules\/ can be read by anybody, /);
  assert.equal(ofZip?.code, 0);
});

test('examples that are right are not to be changed for a deployment that is wrong', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'map');
  await edit(join(ko, 'deployment.yaml'), 'post:', 'get:');
  const { stdout } = await kgrid(['check', 'map'], { cwd: folder.path });
  assert.match(stdout, /calls POST \/calculate, but deployment\.yaml deploys GET: put "post:" there/);
});

test('a zip with several knowledge objects names all of them', async () => {
  await using folder = await temporaryFolder();
  const zip = join(folder.path, 'two.zip');
  await writeFile(zip, await zipOf({ 'one/metadata.json': '{}', 'two/metadata.json': '{}' }));
  const { code, stdout } = await kgrid(['check', zip]);
  assert.equal(code, 1);
  assert.match(stdout, /: The zip file holds several knowledge objects: one\/, two\/: make a zip of each\n/);
});
