/** The answers to records that share a piece of work: in their order, and sent before all of them are there. */
import { answers } from '../../../src/engines/supervisor/messages.ts';

/** Records that may wait for something at the same time. */
const AT_ONCE = 32;
/** What is there is sent after so long, or when it is so much: whoever waits knows then that it need not run again. */
const SEND_MS = 5;
const SEND_CHARACTERS = 256 * 1024;

type Tell = (kind: number, text: string) => void;

export class RecordLines {
  readonly #send: (lines: string, areLast: boolean) => void;
  /** Those that have ended before others that come first. */
  readonly #ended: (string | undefined)[] = [];
  #next = 0;
  #text = '';
  #sent = performance.now();

  constructor(send: (lines: string, areLast: boolean) => void) {
    this.#send = send;
  }

  /** `execute` gives a promise where it goes on. */
  async run(
    records: readonly string[],
    execute: (record: string, tell: Tell) => Promise<void> | undefined,
  ): Promise<void> {
    const open = new Set<Promise<void>>();
    for (const [at, record] of records.entries()) {
      const going = execute(record, (kind, text) => this.#end(at, kind, text));
      if (going !== undefined) {
        open.add(going);
        void going.then(() => open.delete(going));
        if (open.size >= AT_ONCE) await Promise.race(open);
      }
      if (performance.now() - this.#sent > SEND_MS || this.#text.length > SEND_CHARACTERS) this.#flush(false);
    }
    await Promise.all(open);
    this.#flush(true);
  }

  #end(at: number, kind: number, text: string): void {
    this.#ended[at] = kind === answers.result ? `{"result":${text}}\n` : `!${kind}${text}\n`;
    for (let line = this.#ended[this.#next]; line !== undefined; line = this.#ended[this.#next]) {
      this.#text += line;
      this.#ended[this.#next++] = undefined;
    }
  }

  #flush(areLast: boolean): void {
    this.#sent = performance.now();
    if (this.#text === '' && !areLast) return;
    this.#send(this.#text, areLast);
    this.#text = '';
  }
}
