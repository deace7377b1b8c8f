import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedSettings, readSettings } from './read-settings.ts';

const changed = (args: readonly string[], env: Record<string, string> = {}): unknown[] => {
  const given = readSettings(args, env);
  return 'print' in given ? [] : changedSettings(given.settings).map(({ option, value }) => [option, value]);
};

test('what is as it is by default is not told, wherever it was said', () => {
  assert.deepEqual(changed([]), []);
  assert.deepEqual(changed(['--port', '8080'], { KGRID_LOG_LEVEL: 'info' }), []);
  assert.deepEqual(changed(['--log-executions'], { KGRID_PORT: '9' }), [
    ['port', '9'],
    ['log-executions', 'true'],
  ]);
  const given = readSettings(['--drain', '5s'], {});
  assert.ok('settings' in given);
  const [drain] = changedSettings(given.settings);
  assert.deepEqual([drain?.default !== undefined, drain?.group], [true, 'Service']);
});

test('nothing secret is told', () => {
  const secrets = {
    KGRID_USER: 'ann',
    KGRID_PASSWORD: 'sesame',
    KGRID_SHELF: 'postgres://kgrid:sesame@db.example:5432/kgrid?password=sesame&sslmode=require',
    KGRID_MANIFEST: 'https://me:sesame@a.example/m.json,https://b.example/m.json?token=sesame#sesame',
    KGRID_PROPERTY: 'api.key=sesame,plain=sesame=sesame',
  };
  const all = changed([], secrets);
  assert.doesNotMatch(JSON.stringify(all), /sesame/);
  assert.deepEqual(new Map(all as [string, string][]).get('password'), '(set)');
  assert.deepEqual(new Map(all as [string, string][]).get('user'), 'ann');
  assert.match(String(new Map(all as [string, string][]).get('shelf')), /^postgres:\/\/db\.example:5432\/kgrid/);
});
