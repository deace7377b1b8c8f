/**
 * What people need to call the endpoints of a knowledge object: schemas and examples, as its author describes them. Reading
 * them is work that nobody else waits for: a thread with limits does it, and what it found is kept for a while.
 */
import { messageOf, overloaded } from '../../lib/errors.ts';
import { LimitedThread, ThreadLimitPassed } from '../../lib/limited-thread.ts';
import { EXAMPLES_FILE } from '../../knowledge-object/worked-examples.ts';
import type { FormAnswer, FormJob, FormQuestion } from './form-thread.ts';

/** Where the files of a knowledge object are read. */
export interface FormSource {
  /** The same for the same content. */
  readonly digest: string;
  readonly endpoints: readonly FormQuestion[];
  readonly size: (path: string) => Promise<number | undefined>;
  readonly read: (path: string) => Promise<Buffer>;
}

const LIMITS = { timeout: 5000, memory: 256, idle: 10_000 };
const MOST_FILES = 50;
const MOST_BYTES = 2 * 1024 * 1024;
/** Knowledge objects that wait for the thread. */
const MOST_WAITING = 20;
/** Of what was found; of more, what was not asked for longest goes. */
const MOST_KEPT_CHARACTERS = 8 * 1024 * 1024;

export class Forms implements AsyncDisposable {
  readonly #thread = new LimitedThread<FormJob, FormAnswer>(new URL('./form-thread.ts', import.meta.url), LIMITS);
  readonly #kept = new Map<string, readonly string[]>();
  readonly #reading = new Map<string, Promise<readonly string[]>>();
  #keptCharacters = 0;

  /** JSON texts of `FormParts`, one for each endpoint. @throws overloaded; where a file cannot be read. */
  async of(source: FormSource): Promise<readonly string[]> {
    if (source.endpoints.length === 0) return [];
    const key = JSON.stringify([source.digest, source.endpoints]);
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept;
    }
    let reading = this.#reading.get(key);
    if (reading === undefined) {
      if (this.#reading.size >= MOST_WAITING) throw overloaded('Too many forms are being read; try again later', 2);
      reading = this.#read(source)
        .then((forms) => this.#keep(key, forms))
        .finally(() => this.#reading.delete(key));
      this.#reading.set(key, reading);
    }
    return reading;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread[Symbol.asyncDispose]();
  }

  async #read({ endpoints, size, read }: FormSource): Promise<readonly string[]> {
    const texts = new Map<string, string | null>();
    let bytes = 0;
    const take = async (path: string): Promise<void> => {
      const length = await size(path);
      bytes += length ?? 0;
      if (texts.size >= MOST_FILES || bytes > MOST_BYTES)
        throw new TooMuch('what describes it is too large for a form');
      texts.set(path, length === undefined ? null : (await read(path)).toString('utf8'));
    };
    try {
      for (const file of new Set([...endpoints.map((each) => each.file), EXAMPLES_FILE])) await take(file);
      for (;;) {
        const answer = await this.#thread.run({ endpoints, texts });
        if (answer.kind === 'ready') return answer.forms;
        await take(answer.file);
      }
    } catch (thrown) {
      if (!(thrown instanceof TooMuch) && !(thrown instanceof ThreadLimitPassed)) throw thrown;
      const problem =
        thrown instanceof TooMuch ? messageOf(thrown) : `what describes it takes more ${thrown.limit} than a form may`;
      return endpoints.map(() => JSON.stringify({ schema: null, responseSchema: null, examples: [], problem }));
    }
  }

  #keep(key: string, forms: readonly string[]): readonly string[] {
    this.#kept.set(key, forms);
    this.#keptCharacters += charactersOf(key, forms);
    for (const [oldest, each] of this.#kept) {
      if (this.#keptCharacters <= MOST_KEPT_CHARACTERS) break;
      this.#kept.delete(oldest);
      this.#keptCharacters -= charactersOf(oldest, each);
    }
    return forms;
  }
}

class TooMuch extends Error {
  override readonly name = 'TooMuch';
}

const charactersOf = (key: string, forms: readonly string[]): number =>
  forms.reduce((sum, { length }) => sum + length, key.length);
