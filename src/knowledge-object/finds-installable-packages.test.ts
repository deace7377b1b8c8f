import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withPackagePaths } from './deployed-services.ts';
import { type DeploymentEntry, parseDeployment } from './descriptors/deployment.ts';

function entryOf(deployed: string, folder: string, ...files: string[]): DeploymentEntry {
  const file = folder === '' ? 'deployment.yaml' : `${folder}/deployment.yaml`;
  const deployment = parseDeployment(`/run: {post: {${deployed}}}`, file);
  const paths = new Map([file, ...files].map((path) => [path, path]));
  const [entry] = withPackagePaths(deployment, folder, paths).endpoints.get('/run') ?? [];
  assert.ok(entry !== undefined);
  return entry;
}

const ENGINE = 'engine: {name: org.kgrid.python-activator, package: bmi, module: api, function: run}';

test('a package has all files of the folder of its deployment, and its project file as entry', () => {
  const files = ['metadata.json', 'py/pyproject.toml', 'py/bmi/api.py', 'python/other.py'];
  const entry = entryOf(ENGINE, 'py', ...files);
  assert.deepEqual(entry.artifacts, ['py/deployment.yaml', 'py/pyproject.toml', 'py/bmi/api.py']);
  assert.deepEqual(
    [entry.installs, entry.entry, entry.package, entry.module, entry.function, entry.problems],
    ['py', 'py/pyproject.toml', 'bmi', 'api', 'run', []],
  );
});

const layouts: [what: string, deployed: string, folder: string, files: string[], installs: string, entry: string][] = [
  ['the root', ENGINE, '', ['pyproject.toml', 'setup.py'], '', 'pyproject.toml'],
  ['setup.py', ENGINE, '', ['setup.py', 'setup.cfg'], '', 'setup.py'],
  ['a wheel alone', ENGINE, '', ['dist/bmi-1.0-py3-none-any.whl'], '', 'dist/bmi-1.0-py3-none-any.whl'],
  ['a folder of its name beside the deployment', ENGINE, 'py', ['py/bmi/setup.py'], 'py/bmi', 'py/bmi/setup.py'],
  ['names beside the engine', 'engine: python, package: bmi, module: api', '', ['setup.py'], '', 'setup.py'],
  ['a module alone', 'engine: {name: Python, module: api}', '', ['setup.py'], '', 'setup.py'],
  ['a package alone', 'engine: {name: python, package: bmi}', '', ['setup.py'], '', 'setup.py'],
];
for (const [what, deployed, folder, files, installs, entry] of layouts) {
  test(`an installable package is found: ${what}`, () => {
    const found = entryOf(deployed, folder, ...files);
    assert.deepEqual([found.problems, found.installs, found.entry], [[], installs, entry]);
  });
}

test('a descriptor that metadata of the first generation names has the package in its own folder', () => {
  const deployment = parseDeployment(`/run: {post: {${ENGINE}}}`, 'py/deployment.yaml');
  const files = new Map(['py/deployment.yaml', 'py/setup.py'].map((path) => [path, path]));
  const [entry] = withPackagePaths(deployment, '', files).endpoints.get('/run') ?? [];
  assert.equal(entry?.installs, 'py');
});

test('a package that is not there is a fault of its endpoint, with what to do', () => {
  assert.deepEqual(entryOf(ENGINE, 'py', 'pyproject.toml', 'py/api.py').problems, [
    'py/deployment.yaml line 1: /run names a package, but py has no pyproject.toml, no setup.py and no wheel in dist: add one, or name the file of the code as artifact',
  ]);
});

test('code that names its artifact is no package, and engines that install none need an artifact', () => {
  const named = entryOf(`${ENGINE}, artifact: src/api.py`, '', 'src/api.py', 'setup.py');
  assert.deepEqual([named.installs, named.artifacts, named.problems], [undefined, ['src/api.py'], []]);
  const [problem] = entryOf('engine: {name: javascript, module: api}', '').problems;
  assert.match(problem ?? '', /names no artifact/);
});
