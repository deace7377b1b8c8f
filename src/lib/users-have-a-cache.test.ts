import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { userCache } from './user-cache.ts';

const unknown = (): never => {
  throw new Error('uv_os_homedir returned ENOENT');
};

test('what can be made again lies in the home of the user, and of a user without one in a folder that nobody can foresee', () => {
  assert.equal(
    userCache('kgrid', () => '/home/ann'),
    '/home/ann/.cache/kgrid',
  );
  const [one, other] = [userCache('kgrid', unknown), userCache('kgrid', unknown)];
  assert.equal(dirname(one), tmpdir());
  assert.notEqual(one, other);
});
