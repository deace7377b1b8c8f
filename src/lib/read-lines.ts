import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Gives the lines of a stream as they come; of one that is longer than `longest` characters, its beginning. */
export function readLines(stream: Readable, longest: number, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = (lines.pop() ?? '').slice(0, longest);
    for (const line of lines) onLine(line.slice(0, longest));
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
  });
  stream.on('error', () => undefined);
}
