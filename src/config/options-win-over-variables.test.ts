import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from './read-settings.ts';
import { SETTINGS } from './settings.ts';
import type { Setting } from './setting.ts';
import { configOf } from '../../test/support/config/config-of.ts';

/** The value under one of the names, as it was read, and where. */
function readOf(option: string, argv: readonly string[], env: NodeJS.ProcessEnv) {
  const given = readSettings(argv, env);
  assert.ok('settings' in given);
  return [...given.settings].find(([name]) => name === option)?.[1];
}

test('an option wins over its KGRID_ variable, and that over the names of the original', () => {
  for (const { option, env, aliases } of SETTINGS as readonly Setting[]) {
    const variables = {
      [env]: 'of-variable',
      ...Object.fromEntries((aliases ?? []).map((name) => [name, 'of-alias'])),
    };
    assert.deepEqual(readOf(option, [`--${option}=of-option`], variables), {
      values: ['of-option'],
      source: `--${option}`,
    });
    assert.deepEqual(readOf(option, [], variables), { values: ['of-variable'], source: env });
    for (const alias of aliases ?? []) assert.equal(readOf(option, [], { [alias]: 'of-alias' })?.source, alias);
    assert.equal(readOf(option, [], {}), undefined);
    assert.equal(readOf(option, [], { [env]: '' }), undefined, 'an empty variable is none');
  }
});

test('an empty variable leaves its place to the next', () => {
  assert.equal(configOf([], { KGRID_PORT: '', SERVER_PORT: '9000' }).port, 9000);
});

test('without a shelf it is dev, with one secure, unless a profile is given', () => {
  assert.equal(configOf([]).profile, 'dev');
  assert.equal(configOf([]).shelf, undefined);
  assert.equal(configOf(['--shelf', 'x']).profile, 'secure');
  assert.equal(configOf([], { KGRID_SHELF: 'x' }).profile, 'secure');
  assert.equal(configOf(['--shelf', 'x', '--profile', 'dev']).profile, 'dev');
  assert.equal(configOf([]).host, '127.0.0.1');
});

test('the limits are those of the table where nothing is given', () => {
  const megabyte = 2 ** 20;
  const { limits } = configOf([]);
  const { package: zipped, unpacked, file, entries, metadata, descriptor, body, result } = limits;
  assert.deepEqual([zipped, unpacked, file, entries].concat([metadata, descriptor, body, result]), [
    100 * megabyte,
    300 * megabyte,
    100 * megabyte,
    5000,
    megabyte,
    5 * megabyte,
    10 * megabyte,
    20 * megabyte,
  ]);
  const { execution, runtime, isolateMemory, queue } = limits;
  assert.deepEqual([execution, runtime, isolateMemory, queue], [5000, 30_000, 128 * megabyte, 1000]);
});
