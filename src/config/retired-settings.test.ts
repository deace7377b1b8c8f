import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SETTINGS } from './settings.ts';
import { configOf } from '../../test/support/config/config-of.ts';

test('a setting that became a constant still counts, and the warning says what takes its place', () => {
  const { limits, retired } = configOf(['--queue-limit', '7'], { KGRID_MAX_ENTRIES: '9' });
  assert.deepEqual([limits.queue, limits.entries], [7, 9]);
  assert.deepEqual(retired, [
    'KGRID_MAX_ENTRIES goes with the next version: it is 5000',
    '--queue-limit goes with the next version: it is 1000',
  ]);
});

test('nothing warns where none of them is set', () => {
  assert.deepEqual(configOf(['--port', '0'], {}).retired, []);
});

test('what became a constant grows with the setting that it belongs to, and is never less than it was', () => {
  const { limits } = configOf(['--max-package', '1GB', '--max-body', '1KB']);
  assert.deepEqual([limits.unpacked, limits.file, limits.result], [3 * 2 ** 30, 2 ** 30, 20 * 2 ** 20]);
  assert.equal(configOf(['--max-package', '1GB', '--max-file', '1MB']).limits.file, 2 ** 20);
});

test('there are at most 72 settings', () => {
  assert.ok(SETTINGS.length <= 72, `${SETTINGS.length}`);
});
