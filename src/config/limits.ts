/** How much of everything is allowed. */
import { startRefused } from '../lib/errors.ts';
import type { SettingReader } from './setting-reader.ts';
import { toCount, toDuration, toSize } from './values.ts';

export interface Limits {
  /** Bytes. */
  readonly package: number;
  readonly unpacked: number;
  readonly file: number;
  readonly entries: number;
  readonly metadata: number;
  readonly descriptor: number;
  readonly body: number;
  readonly result: number;
  readonly isolateMemory: number;
  /** Milliseconds. */
  readonly execution: number;
  readonly runtime: number;
  readonly endpoint: number;
  readonly activation: number;
  readonly runtimeExpiry: number;
  readonly request: number;
  readonly upload: number;
  readonly queue: number;
  readonly held: number;
  readonly batchSpool: number;
  readonly batchIdle: number;
  readonly connections: number;
  readonly audit: number;
}

export function limitsOf(read: SettingReader): Limits {
  const packageSize = read.as('max-package', toSize);
  const body = read.as('max-body', toSize);
  return {
    package: packageSize,
    unpacked: follows(read, 'max-unpacked', 3 * packageSize),
    file: follows(read, 'max-file', packageSize),
    entries: read.as('max-entries', toCount),
    metadata: read.as('max-metadata', toSize),
    descriptor: read.as('max-descriptor', toSize),
    body,
    result: follows(read, 'max-result', 2 * body),
    isolateMemory: read.as('isolate-memory', (value, source) =>
      atLeast(toSize(value, source), 8 * 2 ** 20, value, source, '8MB'),
    ),
    execution: read.as('execution-timeout', toDuration),
    runtime: read.as('runtime-timeout', toDuration),
    endpoint: read.as('max-endpoint-timeout', toDuration),
    activation: read.as('activation-timeout', toDuration),
    runtimeExpiry: read.as('runtime-expiry', toDuration),
    request: read.as('request-timeout', toDuration),
    upload: read.as('upload-timeout', toDuration),
    queue: read.as('queue-limit', toCount),
    held: read.as('max-held', toSize),
    batchSpool: read.as('max-batch-spool', toSize),
    batchIdle: read.as('batch-idle', toDuration),
    connections: read.as('max-connections', toCount),
    audit: read.as('max-audit', (value, source) => atLeast(toSize(value, source), 64 * 2 ** 10, value, source, '64KB')),
  };
}

/** Where nobody sets it, it grows with the setting that it belongs to. */
function follows(read: SettingReader, option: 'max-unpacked' | 'max-file' | 'max-result', bytes: number): number {
  const size = read.as(option, toSize);
  return read.isGiven(option) ? size : Math.max(size, bytes);
}

function atLeast(bytes: number, least: number, value: string, source: string, words: string): number {
  if (bytes >= least) return bytes;
  throw startRefused(`${source} is '${value}', but must be at least ${words}`);
}
