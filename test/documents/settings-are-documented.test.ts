import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { helpText } from '../../src/config/read-settings.ts';
import { RETIRED_SETTINGS } from '../../src/config/retired-settings.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import type { Setting } from '../../src/config/setting.ts';
import { codesIn, tableOf } from './support/markdown.ts';
import { PROJECT, markdownFiles, read } from './support/project.ts';
import { configOf } from '../support/config/config-of.ts';

const settings: readonly Setting[] = SETTINGS;
const document = read('docs/settings.md');

/** The variables that the sources in a folder name. */
function namedIn(folder: string): Set<string> {
  const sources = readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  );
  const names = sources.flatMap((path) => [...read(join(folder, path)).matchAll(/\bKGRID_[A-Z_]+\b/g)]);
  return new Set(names.map(([name]) => name));
}

test('no document names an option or a variable of the service that is not there', () => {
  const options = new Set([...settings.map((each) => `--${each.option}`), '--help', '--version']);
  const variables = new Set<string>([
    ...settings.flatMap((each) => [each.env, ...(each.aliases ?? [])]),
    ...RETIRED_SETTINGS.map(({ env }) => env),
  ]);
  // Those of the runtimes stand in documents of their own.
  const ofRuntimes = /^KGRID_(PROXY|NODE|PYTHON|RUNTIME)_/;
  const ofCommands = namedIn('cli');
  const unknown = markdownFiles()
    .filter((file) => /^(README|CONTRIBUTING|CHANGELOG)\.md$|^docs\//.test(file) && file !== 'docs/specification.md')
    .flatMap((file) => {
      const text = read(file);
      const named = [
        ...[...text.matchAll(/npm start --((?: --?[\w-]+(?:[ =][^\s\\`-][^\s\\`]*)?)+)/g)].flatMap(([, rest = '']) =>
          [...rest.matchAll(/ (--[\w-]+)/g)].map(([, option = '']) => option).filter((option) => !options.has(option)),
        ),
        ...[...text.matchAll(/`(KGRID_[A-Z_]+)/g)]
          .map(([, name = '']) => name)
          .filter((name) => !variables.has(name) && !ofRuntimes.test(name) && !ofCommands.has(name)),
      ];
      return named.map((name) => `${file}: ${name}`);
    });
  assert.deepEqual(unknown, []);
});

test('.env.example names every variable; a shell can read it, and the service accepts what it shows', () => {
  const commented = read('.env.example');
  const given = commented.replace(/^# ([A-Z_]+=)/gm, '$1');
  const script = `set -a; eval "$0"; set +a; env`;
  const printed = execFileSync('sh', ['-euc', script, given], { env: { PATH: process.env['PATH'] }, encoding: 'utf8' });
  const lines = printed.split('\n').filter((line) => line.startsWith('KGRID_'));
  const environment: Record<string, string> = {};
  for (const line of lines) environment[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
  assert.deepEqual(Object.keys(environment).sort(), settings.map((each) => each.env).sort());
  // The password stands in one place only, and the files that are shown are not there.
  const shown = Object.entries(environment).filter(([name]) => !/_FILE$/.test(name));
  configOf([], Object.fromEntries(shown));
  for (const { env, default: standard } of settings) {
    if (standard !== undefined) assert.equal(environment[env], standard, env);
  }
});

test('a bad value stops the start with the words of docs/settings.md', () => {
  const rows = tableOf(document, 'Given');
  assert.ok(rows.length > 5);
  for (const row of rows) {
    const [given = ''] = codesIn(row['Given'] ?? '');
    assert.throws(() => configOf(given.split(' '), {}), { message: row['What the start says'] }, given);
  }
});

test('--help names every option and variable', () => {
  const text = helpText();
  for (const each of settings) {
    assert.ok(text.includes(`--${each.option}`), each.option);
    assert.ok(text.includes(each.env), each.env);
  }
});
