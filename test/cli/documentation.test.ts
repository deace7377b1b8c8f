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

const context = processContext();
// The commands of `shelf` stand in docs/operations.md, for those who run a service.
const made = await Promise.all(Object.values(COMMANDS).map((load) => load()));
const commands = made.map((make) => make(context)).filter((command) => command.commands.length === 0);
for (const command of commands) {
  test(`docs/authoring-commands.md has every option of ${command.name()}, and no other`, () => {
    const words = command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
      return argument.required ? `<${name}>` : `[${name}]`;
    });
    assert.deepEqual(
      rowsBelow(`## \`kgrid ${[command.name(), ...words].join(' ')}\``).sort(),
      command.options.map(({ flags }) => flags).sort(),
    );
  });
}

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
