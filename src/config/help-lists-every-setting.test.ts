import assert from 'node:assert/strict';
import { test } from 'node:test';
import { helpText } from './help.ts';
import { readSettings } from './read-settings.ts';
import { SETTINGS } from './settings.ts';
import type { Setting } from './setting.ts';

test('the help has each setting once: its option, help, default and variables', () => {
  const lines = helpText().split('\n');
  for (const { option, env, aliases, help, default: standard, choices } of SETTINGS as readonly Setting[]) {
    const at = lines.findIndex((line) => line.trimStart().startsWith(`--${option} `));
    assert.ok(at >= 0, option);
    const line = lines[at] ?? '';
    assert.ok(line.includes(help), option);
    if (standard !== undefined) assert.ok(line.endsWith(`(default ${standard})`), line);
    if (choices !== undefined) assert.ok(line.includes(choices.join('|')), line);
    assert.equal(lines[at + 1]?.trim(), [env, ...(aliases ?? [])].join(', '));
  }
  const options = lines.filter((line) => line.startsWith('  --'));
  assert.equal(options.length, SETTINGS.length);
});

test('the help is asked for wherever it stands, whatever else is wrong', () => {
  for (const argv of [['--help'], ['-h'], ['--port', '1', '--help', '--nonsense']]) {
    assert.deepEqual(readSettings(argv, { KGRID_PORT: 'wrong' }), { print: 'help' });
  }
});

test('the version is asked for as the help is', () => {
  assert.deepEqual(readSettings(['--port', 'x', '--version'], {}), { print: 'version' });
});
