/** How far a node knew its database, in a file: what it starts on later may be another one. */
import { readFile, writeFile } from 'node:fs/promises';
import type { Known } from '../shelf/store/state.ts';

export class NotedHistory {
  readonly #file: string | undefined;
  #noted = '';

  /** @param file undefined where nothing can be kept. */
  constructor(file: string | undefined) {
    this.#file = file;
  }

  /** Undefined where nothing is known. */
  async read(): Promise<Known | undefined> {
    if (this.#file === undefined) return undefined;
    const text = await readFile(this.#file, 'utf8').catch(() => '');
    const [, number, mark] = /^(\d+) (\S+)\n$/.exec(text) ?? [];
    return mark === undefined ? undefined : { number: Number(number), mark };
  }

  /** Never rejects. */
  async write({ number, mark }: Known): Promise<void> {
    const text = `${String(number)} ${mark ?? ''}\n`;
    if (this.#file === undefined || mark === undefined || text === this.#noted) return;
    this.#noted = text;
    await writeFile(this.#file, text).catch(() => (this.#noted = ''));
  }
}
