/**
 * The supervisor's side of a program, for engines whose program is in JavaScript: reads frames from file descriptor 3 and
 * answers them. `messages.ts` says what passes; a program in another language does the same.
 */
import { Socket } from 'node:net';
import { FrameReader, frame } from './frames.ts';
import { answers, kinds } from './messages.ts';
import type { Failure } from './messages.ts';

/** What the supervisor says of an endpoint; the engine may add to it by `Installed.more`. */
export interface Definition {
  /** Entry artifact, absolute. */
  readonly file: string;
  /** Folder of the knowledge object, absolute. */
  readonly root: string;
  readonly function: string;
}

export type Run = (input: unknown) => unknown;

type Answered = readonly [answer: number, text: string];

/**
 * `load` gives what runs an endpoint, or throws an error whose message tells the author of the knowledge object what is
 * wrong and where. An error of the name `InvalidInputError` with `status` 400 or 422 says that the input is at fault.
 */
export function serve(load: (definition: Definition) => Run | Promise<Run>, outputLimit: number): void {
  const definitions = new Map<number, Definition>();
  const loaded = new Map<number, Promise<Run>>();
  const pipe = new Socket({ fd: 3 });
  const send = (kind: number, a: number, b: number, text: string): void => void pipe.write(frame(kind, a, b, text));
  const runOf = (index: number): Promise<Run> => {
    let run = loaded.get(index);
    const definition = definitions.get(index);
    if (run === undefined && definition !== undefined)
      loaded.set(index, (run = Promise.resolve().then(() => load(definition))));
    return run ?? Promise.reject(new Error('the endpoint is not defined'));
  };
  const answerTo = async (run: Run, isJson: boolean, text: string): Promise<Answered> => {
    let input: unknown = text;
    try {
      if (isJson) input = JSON.parse(text);
    } catch (thrown) {
      return [answers.unreadable, failure(thrown)];
    }
    try {
      const result = JSON.stringify((await run(input)) ?? null);
      if (Buffer.byteLength(result) <= outputLimit) return [answers.result, result];
      return [answers.unwritable, failure(`The result is larger than the limit of ${outputLimit / 1e6} MB`)];
    } catch (thrown) {
      const status = statusOf(thrown);
      return [status === undefined ? answers.thrown : answers.invalid, failure(thrown, status)];
    }
  };
  const unlessLoaded = (number: number, index: number, then: (run: Run) => Promise<void> | void): void =>
    void runOf(index).then(then, (thrown: unknown) =>
      send(kinds.answer, number, answers.unloaded, failure(messageOf(thrown))),
    );
  const reader = new FrameReader((kind, a, b, text) => {
    const index = b >> 1;
    if (kind === kinds.define) {
      definitions.set(a, JSON.parse(text) as Definition);
      loaded.delete(a);
    } else if (kind === kinds.load) unlessLoaded(a, index, () => send(kinds.answer, a, answers.result, 'true'));
    else if (kind === kinds.call)
      unlessLoaded(a, index, async (run) => send(kinds.answer, a, ...(await answerTo(run, (b & 1) === 1, text))));
    else if (kind === kinds.records)
      unlessLoaded(a, index, async (run) => {
        let lines = '';
        for (const record of text.split('\n')) {
          const [answer, words] = await answerTo(run, true, record);
          lines += answer === answers.result ? `{"result":${words}}\n` : `!${answer}${words}\n`;
        }
        send(kinds.lines, a, 1, lines);
      });
    else if (kind === kinds.ping) send(kinds.ping, 0, 0, '');
  });
  // Says that it was started, before any code of others.
  send(kinds.ping, 0, 0, '');
  pipe.on('data', (chunk: Buffer) => reader.push(chunk));
  pipe.on('error', () => undefined);
  pipe.on('close', () => process.exit(0));
}

const MAX_CHARACTERS = 2000;

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

function failure(thrown: unknown, status?: 400 | 422): string {
  const isNamed = thrown instanceof Error && status === undefined;
  const words = isNamed ? `${thrown.name}: ${thrown.message}` : messageOf(thrown);
  const description = words.slice(0, MAX_CHARACTERS).toWellFormed();
  return JSON.stringify({ description, ...(status && { status }) } satisfies Failure);
}

function statusOf(thrown: unknown): 400 | 422 | undefined {
  const { name, status } = (thrown ?? {}) as { name?: unknown; status?: unknown };
  return name === 'InvalidInputError' && (status === 400 || status === 422) ? status : undefined;
}
