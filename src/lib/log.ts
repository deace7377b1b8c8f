/** The log: JSON lines for machines, short lines for a person at a terminal. */
import { pino } from 'pino';
import type { Logger } from 'pino';
import type { Output } from './output.ts';

export type { Logger };

export interface LogOptions {
  readonly level: string;
  readonly format: 'auto' | 'text' | 'json';
}

export function createLog({ level, format }: LogOptions, output: Output): Logger {
  const asText = format === 'text' || (format === 'auto' && output.isTerminal);
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: ['req.headers.authorization', 'headers.authorization', 'password', 'token'],
    // A request is named by its id; its headers and body are nobody's business here.
    serializers: {
      req: (request: { method: string; url: string; id: string }) => ({
        id: request.id,
        method: request.method,
        path: request.url.split('?')[0],
      }),
      res: () => undefined,
    },
  };
  const log = pino(options, {
    write: (line: string) =>
      output.write(`${asText ? readable(line, output.isTerminal) : escapeSteering(line.trimEnd())}\n`),
  });
  output.onTakenAgain = (lost) =>
    log.warn({ event: 'log-lines-lost', lost }, 'lines of this log are lost: its reader did not read');
  return log;
}

const COLOURS: Readonly<Record<string, string>> = {
  debug: '\x1b[2m',
  info: '\x1b[36m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
  fatal: '\x1b[31m',
};
/** What a terminal need not see. */
const QUIET: ReadonlySet<string> = new Set([
  'level',
  'time',
  'msg',
  'event',
  'requestId',
  'reqId',
  'remoteAddress',
  'req',
  'login',
  'audit',
]);

/** One line for a person: time of day, level, message and what belongs to it. */
function readable(json: string, isTerminal: boolean): string {
  const fields = JSON.parse(json) as Record<string, unknown>;
  const { level = '', time = '', msg = '' } = fields as Record<string, string>;
  const colour = isTerminal ? (COLOURS[level] ?? '') : '';
  const rest = Object.entries(fields)
    // What the message says stands there once.
    .filter(([key, value]) => !QUIET.has(key) && !(typeof value === 'string' && value !== '' && msg.includes(value)))
    .map(
      ([key, value]) =>
        `${key}=${key === 'err' ? String((value as { stack?: string }).stack) : typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
  const tail = rest.length === 0 ? '' : `  ${rest.join(' ')}`;
  return `${time.slice(11, 19)} ${colour}${level.padEnd(5)}${colour === '' ? '' : '\x1b[0m'} ${escapeSteering(`${msg}${tail}`)}`;
}

/** What ends a line, steers a terminal or turns the direction of writing. */
const STEERING = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Escapes control characters as JSON does: text of others in the log must not pass for lines of it. */
export const escapeSteering = (text: string): string =>
  text.replace(
    STEERING,
    (found) => SHORT[found] ?? Array.from({ length: found.length }, (_, i) => unit(found, i)).join(''),
  );

const unit = (text: string, at: number): string => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
