/** What can be seen without a build: the files that the image gets are enough for the service and the commands. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { EXAMPLES } from '../acceptance/support/examples.ts';
import { PROJECT, startService, temporaryFolder } from '../acceptance/support/service.ts';
import { assertWorkedExamples } from '../acceptance/support/worked-examples.ts';
import { imageFiles } from './support/build-context.ts';

const folder = await temporaryFolder();
after(() => folder[Symbol.asyncDispose]());
const app = join(folder.path, 'app');
const kgrid = (...args: string[]): string => execFileSync(join(app, 'cli/kgrid.js'), args, { encoding: 'utf8' });

before(() => {
  for (const [file, inside] of imageFiles()) {
    const path = join(app, inside);
    mkdirSync(dirname(path), { recursive: true });
    cpSync(join(PROJECT, file), path);
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(app, 'node_modules'));
});

test('the image has the license, and neither tests nor what was installed for them', () => {
  const files = [...imageFiles().values()];
  assert.ok(files.includes('LICENSE'));
  assert.deepEqual(
    files.filter((file) => /\.test\.ts$|__pycache__|node_modules|(?:^|\/)(?:tests?|support)\//.test(file)),
    [],
  );
});

test('kgrid runs from these files, and makes a knowledge object for each engine', () => {
  const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { version: string };
  assert.ok(kgrid('--version').startsWith(version));
  for (const engine of ['javascript', 'node', 'python', 'resource'])
    assert.match(kgrid('create', '--engine', engine, join(folder.path, engine)), /\bkgrid (?:test|play)\b/);
});

test('the service starts from these files and answers', async () => {
  const example = join(EXAMPLES, 'nephrology-ckdepi-v2.0');
  const shelf = join(folder.path, 'shelf');
  cpSync(example, join(shelf, 'ckdepi'), { recursive: true });
  await using service = await startService({ project: app, shelf });
  assert.ok((await assertWorkedExamples(service, example, 'nephrology/ckdepi/2.0')) > 0);
});

test('labels say what package.json says', () => {
  const { version, license, description } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  const dockerfile = readFileSync(join(PROJECT, 'Dockerfile'), 'utf8');
  const label = (name: string): string | undefined =>
    new RegExp(`org\\.opencontainers\\.image\\.${name}="(.*)"`).exec(dockerfile)?.[1];
  assert.deepEqual([label('version'), label('licenses'), label('description')], [version, license, description]);
});
