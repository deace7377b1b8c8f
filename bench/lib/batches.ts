/** Batches of NDJSON, as files and as they are sent. */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { Bench } from './bench.ts';
import { INPUT } from './kos.ts';
import type { BenchKo } from './kos.ts';
import type { Service } from './servers.ts';

const LINES_A_PIECE = 1000;

/** A file of so many records. */
export async function recordsFile(bench: Bench, count: number): Promise<string> {
  const path = join(bench.folder, `${count}.ndjson`);
  const piece = `${INPUT}\n`.repeat(LINES_A_PIECE);
  await pipeline(Readable.from(Array.from({ length: count / LINES_A_PIECE }, () => piece)), createWriteStream(path));
  return path;
}

export const curlArgs = ({ url }: Service, { call }: BenchKo, file: string): string[] => [
  ...['-sS', '--fail', '-o', '/dev/null', '-X', 'POST', '-H', 'Content-Type: application/x-ndjson', '-T', file],
  url + call.path,
];

/** Records a second, by a client that is a process of its own. */
export async function batchRate(
  bench: Bench,
  service: Service,
  ko: BenchKo,
  file: string,
  count: number,
): Promise<number> {
  const began = performance.now();
  await promisify(execFile)('curl', curlArgs(service, ko, file), { signal: bench.signal });
  return (count / (performance.now() - began)) * 1000;
}
