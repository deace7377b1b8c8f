import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fullVersion, readBuild } from './build.ts';

function project(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-build-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), '{"version": "1.2.3"}');
  return folder;
}

const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    encoding: 'utf8',
  }).trim();

test('the commit is that of the checkout, on a branch, packed, detached, and in a worktree', (t) => {
  const folder = project(t);
  git(folder, 'init', '-q', '-b', 'main');
  git(folder, 'add', '.');
  git(folder, 'commit', '-q', '-m', 'one');
  const commit = git(folder, 'rev-parse', 'HEAD').slice(0, 12);
  assert.deepEqual(readBuild(undefined, folder), { version: '1.2.3', commit });
  assert.equal(fullVersion({ version: '1.2.3', commit }), `1.2.3+${commit}`);
  git(folder, 'pack-refs', '--all');
  assert.equal(readBuild('', folder).commit, commit);
  const other = join(folder, 'other');
  git(folder, 'worktree', 'add', '-q', '-b', 'side', other);
  assert.equal(readBuild(undefined, other).commit, commit);
  git(folder, 'checkout', '-q', '--detach');
  assert.equal(readBuild(undefined, folder).commit, commit);
});

test('who builds an image says the commit, and where nobody does it is unknown', (t) => {
  const folder = project(t);
  assert.equal(readBuild('0123456789abcdef0123456789abcdef01234567\n', folder).commit, '0123456789ab');
  for (const nothing of [undefined, '', 'main; rm -rf']) {
    const build = readBuild(nothing, folder);
    assert.deepEqual(build, { version: '1.2.3', commit: 'unknown' });
    assert.equal(fullVersion(build), '1.2.3');
  }
});
