/** Records without a result, as NDJSON: the line of each, what identifies it, and why. */
import type { ByteTarget } from './output.ts';

const DRAIN_CHARACTERS = 64 * 1024;

export class Failures {
  readonly #target: ByteTarget;
  readonly #idName: string | undefined;
  #text = '';

  /** `idName`: of the first value beside a result, where that identifies its record. */
  constructor(target: ByteTarget, idName: string | undefined) {
    this.#target = target;
    this.#idName = idName;
  }

  add(line: number, [id]: readonly unknown[], error: Readonly<Record<string, unknown>>): void {
    const { Status: status, Title: title, Detail: reason } = error;
    this.#text += `${JSON.stringify({
      line,
      ...(this.#idName === undefined || id === undefined
        ? {}
        : { [this.#idName]: typeof id === 'bigint' ? String(id) : id }),
      status: Number.parseInt(String(status), 10) || undefined,
      title,
      reason,
    })}\n`;
  }

  async drain(): Promise<void> {
    if (this.#text.length >= DRAIN_CHARACTERS) await this.#write();
  }

  async keep(): Promise<number> {
    await this.#write();
    return (await this.#target.keep()).output;
  }

  close(): Promise<void> {
    return this.#target.close();
  }

  async #write(): Promise<void> {
    // What cannot be written stays: nothing that was not written may count as kept.
    if (this.#text !== '') await this.#target.write(this.#text);
    this.#text = '';
  }
}
