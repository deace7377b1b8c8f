/**
 * What a command says. Results go to standard output, all else to standard error; colour and progress only to a
 * terminal, and no colour where `NO_COLOR` is set.
 */
import { styleText } from 'node:util';

export interface Terminal {
  /** A line of the result for people; nothing with `--json`. */
  print(line?: string): void;
  /** The result for machines; nothing without `--json`. */
  json(value: unknown): void;
  /** A line beside the result. */
  note(line: string): void;
  /** What goes on now, in place of what went on before; an empty text takes it away. */
  progress(text: string): void;
  good(text: string): string;
  bad(text: string): string;
  warning(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
}

export interface TerminalOptions {
  readonly json: boolean;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

const CLEAR_LINE = '\r\x1b[2K';

export function createTerminal({ json, stdout, stderr }: TerminalOptions): Terminal {
  // Honours NO_COLOR, and whether the stream is a terminal.
  const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    styleText(format, text, { stream: stdout });
  let shown = false;
  const progress = (text: string): void => {
    if (!stderr.isTTY || json || (text === '' && !shown)) return;
    stderr.write(`${CLEAR_LINE}${text.slice(0, (stderr.columns || 80) - 1)}`);
    shown = text !== '';
  };
  return {
    print(line = '') {
      progress('');
      if (!json) stdout.write(`${line}\n`);
    },
    json(value) {
      if (json) stdout.write(`${JSON.stringify(value)}\n`);
    },
    note(line) {
      progress('');
      stderr.write(`${line}\n`);
    },
    progress,
    good: style('green'),
    bad: style('red'),
    warning: style('yellow'),
    dim: style('dim'),
    bold: style('bold'),
  };
}

/** `1 example`, `3 examples`. */
export const count = (many: number, one: string): string => `${many} ${one}${many === 1 ? '' : 's'}`;
