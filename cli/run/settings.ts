/** The options of a run, read. */
import { stat } from 'node:fs/promises';
import { usageFailure } from '../lib/exit.ts';
import { filesOf, type RunFiles } from './run-files.ts';

export interface RunOptions {
  readonly output?: string;
  readonly from?: string;
  readonly to?: string;
  readonly delimiter?: string;
  readonly map: readonly string[];
  readonly join?: boolean;
  readonly idColumn?: string;
  readonly concurrency: string;
  readonly retries: string;
  readonly maxFailures?: string;
  readonly failures?: string;
  readonly resume?: boolean;
  readonly force?: boolean;
  readonly ko?: string;
  readonly with: readonly string[];
  readonly json?: boolean;
}

export interface RunSettings {
  readonly from: Form;
  readonly to: Form;
  /** A path, or `PIPE`. */
  readonly output: string;
  /** Undefined where the output is no file of which a run could go on. */
  readonly files: RunFiles | undefined;
  readonly concurrency: number;
  readonly retries: number;
  /** Infinity without a limit. */
  readonly maxFailures: number;
}

const MOST_CONCURRENCY = 64;

/** @throws CommandFailure. */
export async function settingsOf(input: string, options: RunOptions): Promise<RunSettings> {
  const { output = PIPE, delimiter: given, json = false, resume = false, force = false } = options;
  const delimiter = parseDelimiter(given);
  const from = formOf(input, options.from, '--from', delimiter);
  const isPipe = output === PIPE;
  const to = formOf(
    output,
    options.to ?? (isPipe ? (from.format === 'parquet' ? 'ndjson' : from.format) : undefined),
    '--to',
    delimiter,
  );
  if (isPipe && json)
    throw usageFailure('--json and the results would both go to standard output: write these to a file with -o');
  if (options.join === true && options.idColumn !== undefined)
    throw usageFailure('--join writes all columns, and --id-column one of them: say one of them');
  const isFile = !isPipe && (await mayBeFile(output));
  if (resume && !isFile) throw usageFailure('--resume needs an output that is a file: name one with -o');
  if (resume && input === PIPE)
    throw usageFailure('--resume needs an input that is a file: what came by a pipe is gone');
  if (resume && force) throw usageFailure('--resume goes on with what is there, --force begins again: say one of them');
  return {
    from,
    to,
    output,
    files: isFile ? filesOf(output, options.failures) : undefined,
    concurrency: wholeNumber('--concurrency', options.concurrency, 1, MOST_CONCURRENCY),
    retries: wholeNumber('--retries', options.retries, 0, 1000),
    maxFailures:
      options.maxFailures === undefined
        ? Infinity
        : wholeNumber('--max-failures', options.maxFailures, 0, Number.MAX_SAFE_INTEGER),
  };
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most)
    throw usageFailure(`${option} ${text}: it is a whole number from ${least}${most > 1e6 ? ' on' : ` to ${most}`}`);
  return number;
}

/** False for what is there and no file, such as /dev/stdout. */
async function mayBeFile(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw usageFailure(`${path} is a folder: name a file in it`);
    return found.isFile();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw thrown;
  }
}

type Format = 'csv' | 'ndjson' | 'parquet';

const FORMATS: readonly Format[] = ['csv', 'ndjson', 'parquet'];
const ENDINGS: Readonly<Record<string, { readonly format: Format; readonly delimiter?: string }>> = {
  csv: { format: 'csv' },
  tsv: { format: 'csv', delimiter: '\t' },
  ndjson: { format: 'ndjson' },
  jsonl: { format: 'ndjson' },
  parquet: { format: 'parquet' },
  pq: { format: 'parquet' },
};
/** For pipes. */
export const PIPE = '-';

export interface Form {
  readonly format: Format;
  readonly delimiter: string;
}

/** Gives the form of a file by the option or its ending. @throws CommandFailure where neither says it. */
function formOf(path: string, named: string | undefined, option: string, delimiter: string | undefined): Form {
  const ending = ENDINGS[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''];
  const format = named === undefined ? ending?.format : FORMATS.find((each) => each === named.toLowerCase());
  if (format === undefined)
    throw usageFailure(
      named === undefined
        ? `${path === PIPE ? 'A pipe has no ending' : `The ending of ${path} says nothing`}: say ${option} ${FORMATS.join(', ')}`
        : `${option} ${named}: it is one of ${FORMATS.join(', ')}`,
    );
  return { format, delimiter: delimiter ?? ending?.delimiter ?? ',' };
}

/** One character, or how it is written in shells. */
function parseDelimiter(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const delimiter = given === '\\t' || given === 'tab' ? '\t' : given;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw usageFailure(`--delimiter ${given}: it is one character, such as ';', or \\t`);
  return delimiter;
}
