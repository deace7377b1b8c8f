/**
 * What a knowledge object prints, line by line into the log, bounded: lines are cut, more than a certain number a
 * second are counted instead of logged, and beyond a certain volume the pipe is left full until the second is over.
 */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

export const printLimits = { lineLength: 4_000, linesPerSecond: 100, bytesPerSecond: 16_000_000 } as const;

export function logPrintedLines(stream: Readable, log: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let lines = 0;
  let dropped = 0;
  let bytes = 0;
  let second: NodeJS.Timeout | undefined;

  const nextSecond = (): void => {
    if (dropped > 0) log(`… ${dropped} more lines were dropped`);
    lines = dropped = bytes = 0;
    second = undefined;
    stream.resume();
  };
  const print = (line: string): void => {
    if (lines >= printLimits.linesPerSecond) dropped += 1;
    else {
      lines += 1;
      log(line.length > printLimits.lineLength ? `${line.slice(0, printLimits.lineLength)}…` : line);
    }
  };

  stream.on('data', (chunk: Buffer) => {
    second ??= setTimeout(nextSecond, 1000);
    bytes += chunk.length;
    if (bytes > printLimits.bytesPerSecond) stream.pause();
    const parts = (rest + decoder.write(chunk)).split('\n');
    rest = (parts.pop() ?? '').slice(0, printLimits.lineLength + 1);
    for (const part of parts) print(part);
  });
  stream.on('error', () => undefined);
  stream.on('close', () => {
    if (rest) print(rest);
    if (second) {
      clearTimeout(second);
      nextSecond();
    }
  });
}
