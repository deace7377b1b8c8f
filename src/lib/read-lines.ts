import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Gives the lines of a stream as they come; of one that is longer than `longest` characters, its beginning. */
export function readLines(stream: Readable, longest: number, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const [end = '', ...lines] = decoder.write(chunk).split('\n');
    // What is there already is not looked through again: a line may come byte by byte.
    rest += end.slice(0, longest - rest.length);
    for (const line of lines) {
      onLine(rest);
      rest = line.slice(0, longest);
    }
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
  });
  stream.on('error', () => undefined);
}
