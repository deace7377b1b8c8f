import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../cli/program.ts';
import { processContext } from '../../cli/lib/context.ts';
import { EXIT } from '../../cli/lib/exit.ts';
import { parseWorkedExamples } from '../../src/knowledge-object/worked-examples.ts';
import { PROJECT } from './kgrid.ts';

const text = await readFile(join(PROJECT, 'docs/authoring-commands.md'), 'utf8');

/** The first column of the first table below a heading. */
function rowsBelow(heading: string): string[] {
  const [, section = ''] = text.split(`\n${heading}\n`);
  const [body = ''] = section.split(/\n##+ /);
  const cells = [...body.matchAll(/^\| `?(.+?)`? *(?<!\\)\| /gm)].map(([, first = '']) => first.replaceAll('\\|', '|'));
  return cells.filter((cell) => !/^(option|code|key|variable|-+)$/.test(cell));
}

const made = await Promise.all(Object.values(COMMANDS).map((load) => load()));
const commands = made.map((make) => make(processContext()));

test('docs/authoring-commands.md names every command', () => {
  const bold = [...text.matchAll(/\*\*`([a-z-]+)/g)].map(([, name]) => name);
  assert.deepEqual(bold.sort(), commands.map((command) => command.name()).sort());
});

test('docs/authoring-commands.md names no option that no command has', () => {
  const options = new Set(commands.flatMap(({ options: of }) => of.map(({ long }) => long)));
  const named = [...text.matchAll(/`(--[a-z-]+)/g)].map(([, name]) => name);
  // Options of the service.
  const unknown = named.filter((name) => !options.has(name) && name !== '--help' && name !== '--provenance');
  assert.deepEqual(unknown, []);
});

test('docs/authoring-commands.md has every exit code', () => {
  assert.deepEqual(rowsBelow('## Exit codes and output').map(Number), Object.values(EXIT));
});

test('docs/authoring-commands.md has every key of a worked example, and its example is one', () => {
  const [said] = parseWorkedExamples('- {none: 1}').problems;
  const keys = /the keys are (.*)$/.exec(said?.message ?? '')?.[1]?.split(', ') ?? [];
  assert.deepEqual(rowsBelow('## worked-examples.yaml').sort(), keys.sort());
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(text) ?? [];
  const { examples, problems } = parseWorkedExamples(yaml);
  assert.deepEqual([examples.length, problems], [2, []]);
});
