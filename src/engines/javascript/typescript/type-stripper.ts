/**
 * Takes the types out of TypeScript, so that all that stays is where it was. The parser reads code that nobody vetted:
 * 100 characters can keep it at work for minutes, and deep nesting ends it; so it runs in a thread with limits.
 */
import { LimitedThread, ThreadLimitPassed } from '../../../lib/limited-thread.ts';
import { ActivationFailure } from '../../engine.ts';
import type { Stripped, StripJob } from './strip-thread.ts';

export interface StripOptions {
  /** Milliseconds that a file may take. */
  readonly timeout?: number;
  /** Milliseconds after which a thread without work is given back. */
  readonly idle?: number;
}

/** The file as JavaScript and the names of types in it, or why it cannot be JavaScript. */
export type JavascriptText = { readonly text: string; readonly types: readonly string[] } | { readonly fault: string };

/** Characters: of 10 million, the parser makes 400 MB. */
const MAX_CHARACTERS = 2_000_000;
const MEMORY_MB = 256;

export class TypeStripper implements AsyncDisposable {
  readonly #timeout: number;
  readonly #thread: LimitedThread<StripJob, Stripped>;

  constructor({ timeout = 5000, idle = 10_000 }: StripOptions = {}) {
    this.#timeout = timeout;
    const limits = { timeout, memory: MEMORY_MB, idle };
    this.#thread = new LimitedThread(
      new URL('./strip-thread.ts', import.meta.url),
      limits,
      (answer) => 'crashed' in answer,
    );
  }

  /** @throws ActivationFailure where the file is too much for the parser. */
  async strip(file: string, text: string): Promise<JavascriptText> {
    if (text.length > MAX_CHARACTERS) throw tooMuch(file, `has more than ${MAX_CHARACTERS / 1e6} million characters`);
    const stripped = await this.#inThread(file, { text });
    if ('crashed' in stripped) throw tooMuch(file, 'is nested too deeply');
    return 'refused' in stripped ? { fault: faultOf(file, stripped) } : stripped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread[Symbol.asyncDispose]();
  }

  async #inThread(file: string, job: StripJob): Promise<Stripped> {
    try {
      return await this.#thread.run(job);
    } catch (thrown) {
      if (!(thrown instanceof ThreadLimitPassed)) throw thrown;
      const { limit } = thrown;
      throw tooMuch(file, limit === 'time' ? `takes more than ${this.#timeout / 1000} s` : 'needs too much memory');
    }
  }
}

const tooMuch = (file: string, why: string): ActivationFailure =>
  new ActivationFailure(
    `${file} ${why}, which is too much TypeScript to take the types out: divide it, or compile it to JavaScript`,
  );

function faultOf(file: string, { refused, isSyntax, line }: Extract<Stripped, { refused: string }>): string {
  const words = refused.split('\n', 1)[0] ?? '';
  if (isSyntax) return `SyntaxError: ${words} (${file} line ${line})`;
  const what = words.replace(/ in (?:strip-only mode|type strip mode)\b.*$/, '');
  return `${what}: types are only taken out, so write this as plain JavaScript (${file} line ${line})`;
}
