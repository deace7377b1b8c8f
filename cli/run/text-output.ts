/** Results as NDJSON or CSV: one a line. */
import type { ByteTarget, Kept, Output } from './output.ts';
import { type ResultColumns, resultOf } from './schema-fields.ts';

const DRAIN_CHARACTERS = 256 * 1024;
const RESULT = '{"result":';

abstract class TextOutput implements Output {
  abstract readonly lost: ReadonlySet<string>;
  readonly #target: ByteTarget;
  #text: string;

  constructor(target: ByteTarget, begin: string) {
    this.#target = target;
    this.#text = begin;
  }

  add(answer: string, beside: readonly unknown[]): void {
    this.#text += this.lineOf(answer, beside);
  }

  async drain(): Promise<void> {
    if (this.#text.length >= DRAIN_CHARACTERS) await this.#write();
  }

  async keep(): Promise<Kept> {
    await this.#write();
    return this.#target.keep();
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  finish(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.#target.close();
  }

  protected abstract lineOf(answer: string, beside: readonly unknown[]): string;

  async #write(): Promise<void> {
    // What cannot be written stays: nothing that was not written may count as kept.
    if (this.#text !== '') await this.#target.write(this.#text);
    this.#text = '';
  }
}

export class NdjsonOutput extends TextOutput {
  readonly lost = new Set<string>();
  readonly #names: readonly string[];

  /** `names`: of what stands beside the results. */
  constructor(target: ByteTarget, names: readonly string[]) {
    super(target, '');
    this.#names = names;
  }

  protected lineOf(answer: string, beside: readonly unknown[]): string {
    const fields = this.#names
      .map((name, i) => [name, beside[i]] as const)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value, bigintAsNumber)},`)
      .join('');
    // The result stays as the service wrote it, to the last digit.
    return answer.startsWith(RESULT)
      ? `{${fields}${answer.slice(1)}\n`
      : `{${fields}"result":${JSON.stringify(resultOf(answer))}}\n`;
  }
}

const bigintAsNumber = (_: string, value: unknown): unknown =>
  typeof value === 'bigint' ? (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)) : value;

export class CsvOutput extends TextOutput {
  readonly #columns: ResultColumns;
  readonly #delimiter: string;

  /** `isNew`: what names the columns is not there yet. */
  constructor(target: ByteTarget, names: readonly string[], columns: ResultColumns, delimiter: string, isNew: boolean) {
    const header = [...names, ...columns.names].map((name) => cellOf(name, delimiter)).join(delimiter);
    super(target, isNew ? `${header}\n` : '');
    this.#columns = columns;
    this.#delimiter = delimiter;
  }

  get lost(): ReadonlySet<string> {
    return this.#columns.lost;
  }

  protected lineOf(answer: string, beside: readonly unknown[]): string {
    const cells = [...beside, ...this.#columns.valuesOf(answer)];
    return `${cells.map((value) => cellOf(value, this.#delimiter)).join(this.#delimiter)}\n`;
  }
}

function cellOf(value: unknown, delimiter: string): string {
  if (value === undefined || value === null) return '';
  const text = textOf(value);
  const needsQuotes = text.includes('"') || text.includes(delimiter) || text.includes('\n') || text.includes('\r');
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value, bigintAsNumber);
}
