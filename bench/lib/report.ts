/** What was measured, for people and for programs. */
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import type { Row } from './bench.ts';

export interface Machine {
  readonly node: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memory: string;
  /** Processes that wanted to run in the minute before. */
  readonly load: number;
}

export const machine = (): Machine => ({
  node: process.version,
  cores: availableParallelism(),
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
  load: loadavg()[0] ?? 0,
});

/** Markdown: one table for all rows with the same figures, in the order of their cases. */
export function report(rows: readonly Row[], { node, cores, cpu, memory, load }: Machine): string {
  const kinds = Map.groupBy(rows, ({ figures }) => Object.keys(figures).join(' | '));
  const failures = rows
    .filter(({ failed }) => failed > 0)
    .map((row) => `${row.failed} requests of ${row.case}, ${row.what}, were not answered with a success.`);
  return [
    `Node ${node}, ${cores} cores, ${cpu}, ${memory}, load ${load.toFixed(1)} before the start. Medians of rounds [min–max].`,
    ...[...kinds.values()].map(table),
    ...failures,
  ].join('\n\n');
}

function table(rows: readonly Row[]): string {
  const names = Object.keys(rows[0]?.figures ?? {});
  const lines = rows.map((row) => [row.case, row.what, ...names.map((name) => cell(row.figures[name] ?? []))]);
  const rule = ['---', '---', ...names.map(() => '---:')];
  return [['case', 'what', ...names], rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cell(values: readonly number[]): string {
  const middle = number(median(values));
  return values.length > 1 ? `${middle} [${number(Math.min(...values))}–${number(Math.max(...values))}]` : middle;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? NaN) + (sorted[Math.floor(half)] ?? NaN)) / 2;
}

/** Three digits that say something. */
const number = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(value >= 10 ? 1 : 2);
