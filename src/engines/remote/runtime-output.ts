/**
 * What a runtime of our own writes, line by line: its events and what knowledge objects print are JSON, and there may be
 * anything else. Lines are cut, and beyond so many a second they are counted instead of logged.
 */
import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { readLines } from '../../lib/read-lines.ts';

const LINES_PER_SECOND = 1000;
/** Characters of a line as it comes, where JSON may write one as six. */
const MAX_LINE_CHARACTERS = 32_000;
const MAX_LOGGED_CHARACTERS = 4000;

export class RuntimeOutput {
  readonly #runtime: string;
  readonly #onListening: (url: string) => void;
  readonly #log: Logger;
  #lines = 0;

  constructor(runtime: string, onListening: (url: string) => void, log: Logger) {
    this.#runtime = runtime;
    this.#onListening = onListening;
    this.#log = log;
  }

  /** `onLine` sees each line too. */
  read(stream: Readable, onLine: (line: string) => void = () => undefined): void {
    readLines(stream, MAX_LINE_CHARACTERS, (line) => {
      onLine(line);
      this.#take(line);
    });
  }

  #take(line: string): void {
    const fields = objectOf(line);
    if (fields?.['event'] === 'listening' && typeof fields['url'] === 'string') return this.#onListening(fields['url']);
    if (this.#lines === 0) setTimeout(() => this.#nextSecond(), 1000).unref();
    if (++this.#lines > LINES_PER_SECOND) return;
    const { ko, stream, text } = fields ?? {};
    if (fields === undefined) this.#log.info({ runtime: this.#runtime }, line.slice(0, MAX_LOGGED_CHARACTERS));
    else if (typeof ko === 'string')
      this.#log.info({ ko, stream, console: true }, String(text).slice(0, MAX_LOGGED_CHARACTERS));
    else this.#log.debug({ runtime: this.#runtime, said: fields }, 'runtime');
  }

  #nextSecond(): void {
    const dropped = this.#lines - LINES_PER_SECOND;
    if (dropped > 0) this.#log.warn({ runtime: this.#runtime, dropped }, 'more lines within a second were dropped');
    this.#lines = 0;
  }
}

function objectOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
