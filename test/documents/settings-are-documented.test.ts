import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toConfig } from '../../src/config/config.ts';
import { helpText } from '../../src/config/help.ts';
import { readSettings } from '../../src/config/read-settings.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import type { Setting } from '../../src/config/settings.ts';
import { codesIn, tableOf } from './support/markdown.ts';
import { markdownFiles, read } from './support/project.ts';

const settings: readonly Setting[] = SETTINGS;
const document = read('docs/settings.md');

test('the table of settings in docs/settings.md is that of the service', () => {
  const shown = tableOf(document, 'Option').map((row) => ({
    option: codesIn(row['Option'] ?? '')[0],
    env: codesIn(row['Variable'] ?? '')[0],
    aliases: codesIn(row['Aliases'] ?? ''),
    default: codesIn(row['Default'] ?? '')[0] ?? '',
    help: row['Meaning'],
  }));
  const real = settings.map((each) => ({
    option: `--${each.option}${each.choices === undefined ? '' : ` ${each.choices.join('|')}`}`,
    env: each.env,
    aliases: [...(each.aliases ?? [])],
    default: each.default ?? '',
    help: each.help,
  }));
  assert.deepEqual(shown, real);
});

test('the table of limits names an option for each, with its default', () => {
  const limits = settings.filter((each) => each.group === 'Limits');
  const shown = tableOf(document, 'What').map((row) => [
    codesIn(row['Option'] ?? '')[0],
    codesIn(row['Default'] ?? '')[0],
  ]);
  assert.deepEqual(
    shown,
    limits.map((each) => [`--${each.option}`, each.default]),
  );
});

test('no document names an option or a variable of the service that is not there', () => {
  const options = new Set([...settings.map((each) => `--${each.option}`), '--help']);
  const variables = new Set(settings.flatMap((each) => [each.env, ...(each.aliases ?? [])]));
  // Those of the runtimes stand in documents of their own.
  const ofRuntimes = /^KGRID_(PROXY|NODE|PYTHON|RUNTIME)_|^KGRID_USER_/;
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
          .filter((name) => !variables.has(name) && !ofRuntimes.test(name)),
      ];
      return named.map((name) => `${file}: ${name}`);
    });
  assert.deepEqual(unknown, []);
});

test('.env.example names every variable, and what it shows is accepted', () => {
  const lines = read('.env.example').split('\n');
  const named = lines.flatMap((line) => /^# ?([A-Z_]+)=(.*)$/.exec(line)?.slice(1, 3).join('=') ?? []);
  assert.deepEqual(
    named.map((line) => line.split('=')[0]),
    settings.map((each) => each.env),
  );
  const environment = Object.fromEntries(
    named.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const given = readSettings([], environment);
  assert.equal(given.help, false);
  toConfig(given.settings);
  for (const { env, default: standard } of settings) {
    if (standard !== undefined) assert.equal(environment[env], standard, env);
  }
});

test('--help names every option and variable', () => {
  const text = helpText();
  for (const each of settings) {
    assert.ok(text.includes(`--${each.option}`), each.option);
    assert.ok(text.includes(each.env), each.env);
  }
});
