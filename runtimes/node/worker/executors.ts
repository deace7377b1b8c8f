/** `global.cxt`: how a knowledge object calls another. The calls go through the runtime to the activator. */
import type { AsyncLocalStorage } from 'node:async_hooks';
import { frame } from '../../../src/engines/supervisor/frames.ts';
import { kinds, MAX_ID_CHARACTERS } from '../../../src/engines/supervisor/messages.ts';

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class Executors {
  readonly #waiting = new Map<number, Waiting>();
  readonly #send: (message: Buffer) => void;
  readonly #current: AsyncLocalStorage<number>;
  /** What calls have failed with: it is never said of the input of the one that made them. */
  readonly #failures = new WeakSet();
  #last = 0;

  /** @param current the number of the call that the running code belongs to. */
  constructor(send: (message: Buffer) => void, current: AsyncLocalStorage<number>) {
    this.#send = send;
    this.#current = current;
  }

  /** What the code of a knowledge object sees. */
  context(): object {
    return Object.freeze({
      getExecutorByID: (uri: string) =>
        Object.freeze({
          execute: (input: unknown, contentType = 'application/json') => this.#execute(uri, input, contentType),
        }),
    });
  }

  #execute(uri: string, input: unknown, contentType: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const json = /json/i.test(contentType);
      const body = typeof input === 'string' && (!json || isJson(input)) ? input : (JSON.stringify(input) ?? 'null');
      const number = ++this.#last;
      this.#waiting.set(number, { resolve, reject });
      const cut = (text: unknown): string => String(text).slice(0, MAX_ID_CHARACTERS);
      const call = JSON.stringify({ what: 'call', id: cut(uri), contentType: cut(contentType) });
      this.#send(frame(kinds.ask, number, this.#current.getStore() ?? 0, `${call}\n${body}`));
    });
  }

  reply(number: number, status: number, text: string): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (!waiting) return;
    const answer = parse(text);
    if (status < 300) waiting.resolve(isRecord(answer) && 'result' in answer ? answer['result'] : answer);
    else {
      const error = new Error(reason(answer) ?? `the activator answered ${status}`);
      this.#failures.add(error);
      waiting.reject(error);
    }
  }

  /** Whether it came out of a call of another endpoint, whatever was made of it since. */
  isNested(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#failures.has(error);
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function reason(answer: unknown): string | undefined {
  const detail = isRecord(answer) ? (answer['Detail'] ?? answer['description']) : undefined;
  return typeof detail === 'string' ? detail : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
