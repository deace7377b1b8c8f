/** Opens what a run writes, at the place where it goes on. */
import { createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import type { Terminal } from '../lib/terminal.ts';
import type { Mapping } from './mapping.ts';
import { type ByteTarget, openFileTarget, type Output, streamTarget } from './output.ts';
import type { RunState } from './run-files.ts';
import type { ResultColumns } from './schema-fields.ts';
import { type Form, PIPE, type RunSettings } from './settings.ts';
import { CsvOutput, NdjsonOutput } from './text-output.ts';

export interface OutputParts {
  readonly settings: Pick<RunSettings, 'to' | 'output' | 'files'>;
  readonly mapping: Mapping;
  readonly columns: ResultColumns;
  readonly from: RunState;
  readonly stdout: NodeJS.WritableStream;
}

export async function openOutput(parts: OutputParts): Promise<Output> {
  const { settings, from, stdout } = parts;
  const { files, output, to } = settings;
  const pipe = (): ByteTarget =>
    output === PIPE ? streamTarget(stdout, 'Standard output') : streamTarget(createWriteStream(output), output);
  if (to.format === 'parquet') return parquetOutput(parts, pipe);
  return textOutput(parts, to, files === undefined ? pipe() : await openFileTarget(files.results, from.output));
}

/** Its code is needed nowhere else. */
async function parquetOutput(
  { settings, mapping, columns, from }: OutputParts,
  pipe: () => ByteTarget,
): Promise<Output> {
  const { parquetColumns, ParquetOutput, PartFolder, PartPipe } = await import('./parquet-output.ts');
  const all = parquetColumns(mapping.beside, mapping.kinds, columns.columns);
  if (settings.files === undefined) return new ParquetOutput(all, columns, new PartPipe(pipe(), all), '');
  const folder = new PartFolder(settings.files, from.parts);
  return new ParquetOutput(all, columns, folder, await folder.goOn(from));
}

function textOutput({ mapping, columns, from }: OutputParts, to: Form, target: ByteTarget): Output {
  return to.format === 'ndjson'
    ? new NdjsonOutput(target, mapping.beside)
    : new CsvOutput(target, mapping.beside, columns, to.delimiter, from.output === 0);
}

/** @param idName names what identifies a record, if something does. */
export async function openFailures(
  path: string | undefined,
  from: RunState,
  idName: string | undefined,
  terminal: Terminal,
): Promise<Failures> {
  const target =
    path === undefined
      ? streamTarget(
          linesTo((line) => terminal.note(line)),
          'Standard error',
        )
      : await openFileTarget(path, from.failures);
  return new Failures(target, idName);
}

/** Where there is no file for them, people see them. */
function linesTo(print: (line: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _, done) {
      for (const line of chunk.toString().split('\n')) if (line !== '') print(line);
      done();
    },
  });
}

// Records without a result, as NDJSON: the line of each, what identifies it, and why.

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
