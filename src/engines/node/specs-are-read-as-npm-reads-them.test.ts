/** What a dependency is written as means the same to the service and to npm, whose own reader judges here. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { DependencySpecs } from './dependency-specs.ts';

interface Npa {
  resolve(name: string, spec: string, where: string): { type: string; fetchSpec: string | null; registry?: boolean };
}

const npm = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
const npa = createRequire(npm)('npm-package-arg') as Npa;
const WHERE = '/the/knowledge-object';
const PLACE = { file: 'package.json', folder: '' };

const add = (spec: unknown): { text: string; specs: DependencySpecs } => {
  const specs = new DependencySpecs();
  return { text: specs.add('x', spec, PLACE), specs };
};

const OF_REGISTRY = [
  '',
  '*',
  ' ^1.2.3 ',
  '~1',
  '1.x || >=2.0.0-beta.1 <3',
  '>=1\t<2',
  'latest',
  'v1.0.0+build',
  '1.0.0 - 2.0.0',
];
const ALIASES = ['npm:y@^1', 'NPM:@a/b@1.0.0', 'npm:y'];
const OWN = {
  'file:./own': 'own',
  'FILE:own': 'own',
  'File:a/../b/c.tgz': 'b/c.tgz',
  'link:own': 'own',
  './own': 'own',
  'a/b/c': 'a/b/c',
  'helper-1.0.tgz': 'helper-1.0.tgz',
  'HELPER.TAR.GZ': 'HELPER.TAR.GZ',
  'file:with blank': 'with blank',
};
const REMOTE = [
  'http://127.0.0.1:1/x.tgz',
  'HTTPS://host.example/x',
  'http://2130706433/x',
  'https://user.example:8/x.git/y',
];
const GIT = {
  'git+https://git.example/x.git': 'git.example:443',
  'GIT+http://git.example/x': 'git.example:80',
  'Git+ssh://git@git.example/x.git': 'git.example:22',
  'git://git.example/x': 'git.example:9418',
  'github:me/x': 'github.com:443',
  'me/x#branch': 'github.com:443',
  'gitlab:me/x': 'gitlab.com:443',
  'git@git.example:me/x': 'git.example:22',
  'https://git.example/x.git#main': 'git.example:443',
  'https://github.com/me/x': 'github.com:443',
};
const REFUSED = [
  ...[
    'file:/etc',
    'FILE:../..',
    'file:///etc',
    'file://etc',
    '../x',
    '..',
    '/etc',
    '~/x',
    'a/../../x',
    'file:x/../../y',
  ],
  ...[
    'file:%2e%2e/x',
    'file:a?b',
    'file:a#b',
    'file:..\\x',
    'c:\\x',
    'C:/x',
    'git+file:///etc',
    'ftp://host/x',
    'workspace:*',
  ],
  ...[
    'npm:file:x',
    'npm:y@file:x',
    'npm:npm:y',
    'https://user:secret@host.example/x',
    'x:y',
    1,
    null,
    {},
    'a'.repeat(2000),
  ],
];

test('what is of a registry is that to npm too', () => {
  for (const spec of [...OF_REGISTRY, ...ALIASES]) {
    const { text, specs } = add(spec);
    assert.equal(npa.resolve('x', text, WHERE).registry, true, spec);
    assert.deepEqual([specs.usesOwnFiles, specs.hosts.size], [false, 0]);
  }
});

test('what is a file or folder of the knowledge object lies there for npm too', () => {
  for (const [spec, path] of Object.entries(OWN)) {
    const { text, specs } = add(spec);
    const { type, fetchSpec } = npa.resolve('x', text, WHERE);
    assert.deepEqual([/^(file|directory)$/.test(type), fetchSpec], [true, `${WHERE}/${path}`], spec);
    assert.ok(specs.usesOwnFiles);
  }
});

test('what is fetched from elsewhere is known by its host, and is of that kind to npm', () => {
  for (const spec of REMOTE) {
    const { text, specs } = add(spec);
    assert.equal(npa.resolve('x', text, WHERE).type, 'remote', spec);
    const url = new URL(spec);
    const port = url.port || (url.protocol === 'http:' ? 80 : 443);
    assert.deepEqual([...specs.hosts.keys()], [`${url.hostname}:${port}`]);
  }
  for (const [spec, host] of Object.entries(GIT)) {
    const { text, specs } = add(spec);
    assert.equal(npa.resolve('x', text, WHERE).type, 'git', spec);
    assert.deepEqual([...specs.hosts.keys(), specs.fromGit.length], [host, 1], spec);
  }
});

test('anything else is refused', () => {
  for (const spec of REFUSED)
    assert.throws(
      () => add(spec),
      /^ActivationFailure|The dependency x of package\.json /,
      JSON.stringify(spec).slice(0, 50),
    );
  for (const name of ['../x', '', '.', 'a/b', '@a', 'x y', '@a/../b'])
    assert.throws(() => new DependencySpecs().add(name, '1', PLACE), /a name that no package has/, name);
  const nested = { file: 'own/package.json', folder: 'own' };
  assert.throws(() => new DependencySpecs().add('x', 'file:../../y', nested), /outside of the knowledge object/);
});
