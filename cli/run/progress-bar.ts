import { count } from '../lib/terminal.ts';

const WIDTH = 20;

export interface Progress {
  readonly records: number;
  readonly failed: number;
  /** Records of this run, without those of a run before it. */
  readonly since: number;
  /** Milliseconds of this run. */
  readonly elapsed: number;
  /** Part of the input that is done, from 0 to 1; undefined where its size is unknown. */
  readonly part: number | undefined;
  /** `part` at the beginning of this run. */
  readonly startPart: number;
  readonly wait: string | undefined;
}

/** One line: how far, how fast, what failed, and how long it still takes. */
export function progressLine({ records, failed, since, elapsed, part, startPart, wait }: Progress): string {
  const rate = elapsed > 0 ? (since * 1000) / elapsed : 0;
  const done = part === undefined ? undefined : Math.min(part, 1);
  const left = done === undefined || done <= startPart ? undefined : (elapsed * (1 - done)) / (done - startPart);
  return [
    ...(done === undefined
      ? []
      : [`${'#'.repeat(Math.floor(done * WIDTH)).padEnd(WIDTH, '.')} ${Math.floor(done * 100)} %`]),
    count(records, 'record'),
    `${grouped(Math.round(rate))}/s`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
    ...(wait === undefined ? (left === undefined ? [] : [`${duration(left)} left`]) : [wait]),
  ].join('  ');
}

export const grouped = (number: number): string => number.toLocaleString('en-US');

export function duration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes}:${String(seconds % 60).padStart(2, '0')} min`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`;
}
