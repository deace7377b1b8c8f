/** What crosses into a sandbox's isolate and out of it is freed: memory does not grow with what ever crossed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kinds } from '../supervisor/messages.ts';
import { ChildProgram } from '../supervisor/process.ts';
import { NO_WALLS } from '../../confinement/walls.ts';
import type { LoadRequest } from './code-files.ts';
import { sandboxCommand, sandboxProgram } from './program.ts';

const MEGABYTE = 1024 * 1024;
/** Of one text; far below what a process may have, far above what it has of garbage. */
const CHARACTERS = 100_000;
const TIMES = 500;
const LONG = JSON.stringify('x'.repeat(CHARACTERS));
const CALLEE = 2;

const CODE = `
function run(input) {
  if (typeof input === 'number') return 'y'.repeat(input);
  return input.nested ? context.getExecutor('callee').execute(input.nested).length : input;
}`;

const requestOf = (code: string): string =>
  JSON.stringify({
    ...{ heapMb: 128, maxResult: 10 * MEGABYTE, limit: 5000, entry: 'index.js', function: 'run' },
    ...{ freshContext: false, files: { 'index.js': code }, faults: {}, types: [], properties: {} },
  } satisfies LoadRequest);

interface Answer {
  readonly kind: number;
  readonly text: string;
}

class Talk implements Disposable {
  readonly process: ChildProgram;
  readonly #answers: Answer[] = [];
  #look: () => void = () => undefined;

  constructor() {
    this.process = new ChildProgram(
      sandboxCommand(sandboxProgram(), NO_WALLS),
      {
        onFrame: (kind, _a, _b, text) => {
          if (kind === kinds.ask) return this.process.send(kinds.reply, 0, 0, JSON.stringify(HERE));
          this.#hear({ kind, text });
        },
        mostOf: () => Infinity,
        onExit: (reason) => this.#hear({ kind: 0, text: reason }),
      },
      NO_WALLS,
    );
  }

  #hear(answer: Answer): void {
    this.#answers.push(answer);
    this.#look();
  }

  async next(kind: number): Promise<string> {
    while (this.#answers.length === 0) await new Promise<void>((resolve) => (this.#look = resolve));
    const answer = this.#answers.shift();
    assert.equal(answer?.kind, kind, answer?.text);
    return answer.text;
  }

  [Symbol.dispose](): void {
    this.process.kill();
  }
}

const HERE = { kind: 'here', slot: CALLEE, limit: 5000 };

test('long texts are freed, in whatever way they cross', async () => {
  using talk = new Talk();
  const { process } = talk;
  await talk.next(kinds.ping);
  for (const slot of [1, CALLEE]) {
    process.send(kinds.define, slot, 0, requestOf(CODE));
    await talk.next(kinds.ping);
  }
  const ways = [
    ['a call', kinds.batch, kinds.results, LONG, LONG],
    ['a short call with a long result', kinds.batch, kinds.results, String(CHARACTERS), `"${'y'.repeat(CHARACTERS)}"`],
    ['records', kinds.records, kinds.lines, LONG, `{"result":${LONG}}\n`],
    ['a nested call', kinds.batch, kinds.results, `{"nested":${CHARACTERS}}`, String(CHARACTERS)],
  ] as const;
  const once = async ([, kind, answer, input, expected]: (typeof ways)[number]): Promise<void> => {
    process.send(kind, 1, 2, `0,5000,0\n${input}`);
    const text = await talk.next(answer);
    assert.ok(text === expected, text.slice(0, 500));
  };
  for (const way of ways) await once(way);
  for (const way of ways) {
    for (let i = 0; i < TIMES / 4; i++) await once(way);
    const before = process.memory();
    for (let i = 0; i < TIMES; i++) await once(way);
    const grown = Math.round((process.memory() - before) / MEGABYTE);
    assert.ok(grown < 30, `${way[0]}: ${grown} MB more after ${Math.round((TIMES * CHARACTERS) / MEGABYTE)} MB`);
  }
});
