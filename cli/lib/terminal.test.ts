import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createTerminal, harmless } from './terminal.ts';
import type { Terminal } from './terminal.ts';

const texts: [string, string, string][] = [
  ['an escape sequence', 'a\u001b[2Jb\u001b]0;title\u0007', 'a\\u001b[2Jb\\u001b]0;title\\u0007'],
  ['a control character of eight bits', '\u009b2J', '\\u009b2J'],
  ['a carriage return', 'failed\rpassed', 'failed\\u000dpassed'],
  ['text that turns its direction', 'a\u202egpj', 'a\\u202egpj'],
  ['a colour of our own', '\u001b[31mred\u001b[39m', '\u001b[31mred\u001b[39m'],
  ['letters of any script, tabs and line ends', 'naïve 心臓 می‌خواهم\t1\n2', 'naïve 心臓 می‌خواهم\t1\n2'],
];
for (const [what, text, expected] of texts) {
  test(`a terminal is given ${what}`, () => assert.equal(harmless(text), expected));
}

interface Fake {
  readonly terminal: Terminal;
  readonly type: (text: string | null) => void;
  readonly said: () => string;
}

function fake({ json = false, isTTY = true }: { json?: boolean; isTTY?: boolean } = {}): Fake {
  const [stdin, stdout, stderr] = [0, 1, 2].map(() => Object.assign(new PassThrough(), { isTTY, columns: 80 }));
  const streams = { stdin, stdout, stderr } as unknown as Parameters<typeof createTerminal>[0];
  let said = '';
  for (const stream of [stdout, stderr]) stream?.on('data', (chunk: Buffer) => (said += String(chunk)));
  return {
    terminal: createTerminal({ ...streams, json }),
    type: (text) => (text === null ? stdin?.end() : stdin?.write(text)),
    said: () => said,
  };
}

const answers: [string | null, boolean][] = [
  ['y\n', true],
  ['Yes\n', true],
  ['n\n', false],
  ['\n', false],
  ['yikes\n', false],
  [null, false],
];
for (const [typed, expected] of answers) {
  test(`${JSON.stringify(typed)} is ${expected ? 'yes' : 'no'}`, async () => {
    const { terminal, type, said } = fake();
    const answer = terminal.confirm('Replace a\u001b[2Jb?');
    type(typed);
    assert.equal(await answer, expected);
    assert.equal(said(), 'Replace a\\u001b[2Jb? [y/N] ');
  });
}

test('nobody is asked where there is no terminal, or the result is for a program', async () => {
  for (const each of [fake({ isTTY: false }), fake({ json: true })]) {
    assert.equal(await each.terminal.confirm('Replace?'), undefined);
    assert.equal(each.said(), '');
  }
});
