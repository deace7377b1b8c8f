/**
 * One JSON line for each event and for each line that a knowledge object prints, on standard output. Whoever
 * started the runtime may stop reading: a full pipe must drop lines, never stop the runtime.
 */
import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** A line that a knowledge object printed. */
  ko(ko: string, stream: 'stdout' | 'stderr', text: string): void;
  /** A line that others read by its `event`, such as `listening`. */
  announce(line: Readonly<Record<string, unknown>>): void;
}

const maxPendingCharacters = 1_000_000;

export function openLog(debug: boolean, stream: Writable = standardOutput()): Log {
  stream.on('error', () => undefined);
  const write = (line: object): void => {
    if (stream.writableLength < maxPendingCharacters) stream.write(`${JSON.stringify(line)}\n`);
  };
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

/** Node writes to a pipe on standard output synchronously; a socket of our own on it does not block. */
function standardOutput(): Writable {
  const kind = fstatSync(1);
  return kind.isFIFO() || kind.isSocket() ? new Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
}
