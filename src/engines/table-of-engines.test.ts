import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseDeployment } from '../knowledge-object/descriptors/deployment.ts';
import { ENGINES, engineName, withEngineNames } from './table.ts';

const PROJECT = join(import.meta.dirname, '../..');

test('every name of an engine, in any case, means that engine and no other', () => {
  const all = ENGINES.flatMap(({ name, aliases }) => [name, ...aliases].map((each) => [each, name] as const));
  assert.equal(new Set(all.map(([each]) => each)).size, all.length);
  for (const [each, name] of all) {
    assert.equal(each, each.toLowerCase());
    assert.equal(engineName(each.toUpperCase()), name);
  }
  assert.equal(engineName('Julia'), 'julia');
});

test('a descriptor may name its engine by another name', () => {
  const named = parseDeployment(
    '/a: { post: { artifact: a.js, engine: org.kgrid.JavaScript-Activator } }\n/b: { get: { artifact: b, engine: resource } }',
    'deployment.yaml',
  );
  const engines = [...withEngineNames(named).endpoints.values()].flat().map(({ engine }) => engine);
  assert.deepEqual(engines, ['javascript', 'resource']);
});

test('every engine has a template, and a section in the document of engines', () => {
  const document = readFileSync(join(PROJECT, 'docs/engines.md'), 'utf8');
  for (const { name } of ENGINES) {
    assert.ok(existsSync(join(PROJECT, 'templates', name, 'deployment.yaml')), `templates/${name} is missing`);
    assert.match(document, new RegExp(`^## .*\\b${name}\\b`, 'm'), `docs/engines.md has no section for ${name}`);
    assert.match(document, new RegExp(`^\\| \`${name}\` `, 'm'), `docs/engines.md has no row for ${name}`);
  }
});
