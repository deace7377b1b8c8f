/** What `npm pack` makes of a fresh clone installs on each Node that `engines` allows, without scripts, and does its work. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { EXAMPLES } from '../acceptance/support/examples.ts';
import { PROJECT, startService } from '../acceptance/support/service.ts';
import { assertWorkedExamples } from '../acceptance/support/worked-examples.ts';

const run = promisify(execFile);
/** The first is the least of `engines`. */
const NODES = ['20', '22', '24'];
/** One for each engine, by their ids with the API version. */
const SERVED = {
  'nephrology-ckdepi-v2.0': 'nephrology/ckdepi/2.0',
  'nephrology-ckdcategories-v1.0': 'nephrology/ckdcategories/1.0',
  'nephrology-aki-v1.0': 'nephrology/aki/1.0',
  'biostatistics-kaplanmeier-v1.0': 'biostatistics/kaplanmeier/1.0',
};
const ASK = `
from sys import argv
from kgrid_client import Activator
egfr = Activator(argv[1]).endpoint("nephrology/ckdepi/2.0/egfr")
print(egfr({"creatinine": 1.2, "age": 65, "sex": "female"})["egfr"])
`;

const folder = await mkdtemp(join(tmpdir(), 'kgrid-release-'));
const clone = join(folder, 'clone');
let tarball: string;
before(async () => {
  await run('git', ['clone', '--quiet', '--depth', '1', `file://${PROJECT}`, clone]);
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: clone });
  const [file] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  assert.ok(file);
  tarball = join(folder, file);
});
after(() => rm(folder, { recursive: true, force: true }));

/** By what packages come to this machine: proxies, registries and authorities. */
const networkOf = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      /proxy$|^(?:npm_config|pip|node_extra)_|^ssl_cert/i.test(name) && value !== undefined ? [[name, value]] : [],
    ),
  );

/** The folder of the program of this version, from npm. */
async function folderOfNode(version: string): Promise<string> {
  const place = join(folder, `node-${version}`);
  const name = `node-linux-${process.arch}`;
  await mkdir(place);
  await run('npm', ['install', '--silent', '--no-save', '--ignore-scripts', '--prefix', place, `${name}@${version}`]);
  return join(place, 'node_modules', name, 'bin');
}

test('packing leaves the clone as it was', async () => {
  const { stdout } = await run('git', ['status', '--porcelain', '--ignored'], { cwd: clone });
  assert.equal(stdout, '');
});

test('the package holds the program without tests, and the versions of all that it needs', async () => {
  const { stdout } = await run('tar', ['tzf', tarball], { maxBuffer: 1e7 });
  const files = stdout.trim().split('\n');
  assert.deepEqual(
    files.filter((path) => !path.startsWith('package/dist/')).sort(),
    ['LICENSE', 'README.md', 'bin/kgrid-activator', 'bin/kgrid.js', 'npm-shrinkwrap.json', 'package.json'].map(
      (name) => `package/${name}`,
    ),
  );
  const ofProgram = files.filter((path) => /^package\/dist\/(?:src|cli|runtimes)\//.test(path));
  assert.deepEqual(
    ofProgram.filter((path) => /\.ts$|\.test\.|\/(?:tests?|support|__pycache__)\//.test(path)),
    [],
  );
  const { stdout: text } = await run('tar', ['xzfO', tarball, 'package/npm-shrinkwrap.json']);
  const { packages } = JSON.parse(text) as { packages: Record<string, { dev?: boolean; integrity?: string }> };
  for (const [path, { dev, integrity }] of Object.entries(packages).slice(1))
    assert.ok(dev === undefined && integrity !== undefined, path);
});

test('lines and columns of the packed program are those of its source', async () => {
  const { stdout } = await run('tar', ['xzfO', tarball, 'package/dist/src/main.mjs']);
  const source = await readFile(join(clone, 'src/main.ts'), 'utf8');
  const where = (text: string): number[] => text.split('\n').map((line) => line.indexOf('startRefused('));
  assert.deepEqual(where(stdout), where(source));
});

for (const version of NODES) {
  test(`it installs on Node ${version} without scripts, serves each engine, and knows its commit`, async () => {
    const prefix = join(folder, `prefix-${version}`);
    const home = join(folder, `home-${version}`);
    await mkdir(home);
    const path = [await folderOfNode(version), process.env['PATH'] ?? ''].join(delimiter);
    const environment = { ...process.env, PATH: path };
    const install = ['install', '--global', '--silent', '--ignore-scripts', '--prefix', prefix, tarball];
    await run('npm', install, { env: environment });
    const kgrid = (...args: string[]) =>
      run(join(prefix, 'bin/kgrid'), args, { cwd: home, env: { ...environment, HOME: home } });
    const { stdout: commit } = await run('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: clone });
    const { version: release } = JSON.parse(await readFile(join(clone, 'package.json'), 'utf8')) as { version: string };
    assert.equal((await kgrid('--version')).stdout.trim(), `${release}+${commit.trim()}`);
    await kgrid('create', 'my-model');
    await kgrid('test', 'my-model');

    await using service = await startService({
      program: join(prefix, 'bin/kgrid-activator'),
      project: home,
      args: ['--runtimes', 'node,python'],
      env: { ...networkOf(environment), PATH: path, HOME: home },
    });
    await kgrid('push', '--url', service.url, ...Object.keys(SERVED).map((name) => join(EXAMPLES, name)));
    for (const [name, id] of Object.entries(SERVED))
      assert.ok((await assertWorkedExamples(service, join(EXAMPLES, name), id)) > 0);
    assert.equal((await service.stop()).code, 0);
  });
}

test('the wheel of the Python client installs without anything else, and calls an endpoint', async () => {
  const wheels = join(folder, 'wheels');
  const environment = join(folder, 'environment');
  await run('python3', ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', wheels, 'clients/python'], {
    cwd: clone,
  });
  const [wheel] = await readdir(wheels);
  assert.ok(wheel);
  await run('python3', ['-m', 'venv', environment]);
  const python = join(environment, 'bin/python');
  await run(python, ['-m', 'pip', 'install', '--quiet', '--no-index', join(wheels, wheel)]);
  const shelf = join(folder, 'shelf');
  await cp(join(EXAMPLES, 'nephrology-ckdepi-v2.0'), join(shelf, 'ckdepi'), { recursive: true });
  await using service = await startService({ shelf });
  assert.equal((await run(python, ['-c', ASK, service.url], { cwd: folder })).stdout, '50\n');
});
