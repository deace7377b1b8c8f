/** One JSON line on standard output for each event, and for each line that a knowledge object prints. */
import { Output } from '../../../src/lib/output.ts';

export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** A line that a knowledge object printed. */
  ko(ko: string, stream: 'stdout' | 'stderr', text: string): void;
  /** A line that others read by its `event`, such as `listening`. */
  announce(line: Readonly<Record<string, unknown>>): void;
}

export function openLog(debug: boolean): Log {
  const output = new Output(1);
  const write = (line: object): void => output.write(`${JSON.stringify(line)}\n`);
  const event =
    (level: string) =>
    (name: string, fields: Readonly<Record<string, unknown>> = {}): void =>
      write({ time: new Date().toISOString(), level, event: name, ...fields });
  return {
    info: event('info'),
    warn: event('warn'),
    debug: debug ? event('debug') : () => undefined,
    ko: (ko, name, text) => write({ ko, stream: name, text }),
    announce: write,
  };
}
