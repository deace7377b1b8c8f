/**
 * What a command says. Results go to standard output, all else to standard error; colour and progress only to a
 * terminal, and no colour where `NO_COLOR` is set.
 */
import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';

export interface Terminal {
  /** A line of the result for people; nothing with `--json`. */
  print(line?: string): void;
  /** The result for machines; nothing without `--json`. */
  json(value: unknown): void;
  /** A line beside the result. */
  note(line: string): void;
  /** Somebody sees what goes on now. */
  readonly showsProgress: boolean;
  /** What goes on now, in place of what went on before; an empty text takes it away. */
  progress(text: string): void;
  /** Asks a person for yes or no; undefined where there is nobody to ask. */
  confirm(question: string): Promise<boolean | undefined>;
  good(text: string): string;
  bad(text: string): string;
  warning(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
}

export interface TerminalOptions {
  readonly json: boolean;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
}

const CLEAR_LINE = '\r\x1b[2K';

export function createTerminal({ json, stdin, stdout, stderr }: TerminalOptions): Terminal {
  // Honours NO_COLOR, and whether the stream is a terminal.
  const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    styleText(format, text, { stream: stdout });
  let shown = false;
  const showsProgress = stderr.isTTY === true && !json;
  const progress = (text: string): void => {
    if (!showsProgress || (text === '' && !shown)) return;
    // A terminal may say that it has none.
    const width = stderr.columns === undefined || stderr.columns === 0 ? 80 : stderr.columns;
    stderr.write(`${CLEAR_LINE}${harmless(text).slice(0, width - 1)}`);
    shown = text !== '';
  };
  return {
    print(line = '') {
      progress('');
      if (!json) stdout.write(`${harmless(line)}\n`);
    },
    json(value) {
      if (json) stdout.write(`${JSON.stringify(value)}\n`);
    },
    note(line) {
      progress('');
      stderr.write(`${harmless(line)}\n`);
    },
    showsProgress,
    progress,
    async confirm(question) {
      if (json || stdin.isTTY !== true || stderr.isTTY !== true) return undefined;
      progress('');
      // Without `terminal` the keys stay the system's: Ctrl-C is a signal as everywhere else.
      const reader = createInterface({ input: stdin, output: stderr, terminal: false });
      const ended = new Promise<string>((resolve) => reader.once('close', () => resolve('')));
      try {
        const answer = await Promise.race([reader.question(`${harmless(question)} [y/N] `), ended]);
        return /^y(es)?$/i.test(answer.trim());
      } finally {
        reader.close();
      }
    },
    good: style('green'),
    bad: style('red'),
    warning: style('yellow'),
    dim: style('dim'),
    bold: style('bold'),
  };
}

/** The colours of above; then what a terminal obeys, and what turns the direction of the text around it. */
const ODD = new RegExp(
  String.raw`\u001b\[(?:1|2|22|31|32|33|39)m|(?![\t\n])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`,
  'gu',
);

/** Texts of packages and of activators may hold what a terminal would obey: it is shown instead. */
export const harmless = (text: string): string =>
  text.replace(ODD, (found) =>
    found.length > 1 ? found : `\\u${(found.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );

/** `1 example`, `3 examples`. */
export const count = (many: number, one: string): string => `${many} ${one}${many === 1 ? '' : 's'}`;

/** Lines with columns, each as wide as its widest cell; the same wherever they go. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, [...cell].length);
  return rows.map((row) =>
    row
      .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - [...cell].length))
      .join('  ')
      .trimEnd(),
  );
}
