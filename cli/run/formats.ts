import { usageFailure } from '../lib/exit.ts';

export type Format = 'csv' | 'ndjson' | 'parquet';

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
export function formOf(path: string, named: string | undefined, option: string, delimiter: string | undefined): Form {
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
export function parseDelimiter(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const delimiter = given === '\\t' || given === 'tab' ? '\t' : given;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw usageFailure(`--delimiter ${given}: it is one character, such as ';', or \\t`);
  return delimiter;
}
