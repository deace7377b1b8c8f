import { placeIn } from '../../src/check/ko-source.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { pathOf } from '../../src/check/run-examples.ts';
import type { ExampleResult } from '../../src/check/run-examples.ts';
import type { Terminal } from './terminal.ts';
import { EXAMPLES_FILE } from '../../src/knowledge-object/worked-examples.ts';

/** One line for an example that passed; what was expected and what came for one that failed. */
export function printExample(source: KoSource, result: ExampleResult, terminal: Terminal): void {
  const { name, line, passed, milliseconds, differences = [], failure } = result;
  if (passed) {
    terminal.print(`  ${terminal.good('ok')}    ${name}  ${terminal.dim(`${milliseconds} ms`)}`);
    return;
  }
  terminal.print(`  ${terminal.bad('FAIL')}  ${name}  ${terminal.dim(placeIn(source, EXAMPLES_FILE, line))}`);
  if (failure !== undefined) terminal.print(`        ${failure}`);
  const widest = Math.max(...differences.map(({ path }) => pathOf(path).length));
  for (const { path, expected, got } of differences) {
    const where = pathOf(path).padEnd(widest);
    terminal.print(`        ${where}  expected ${terminal.good(expected)}, got ${terminal.bad(got)}`);
  }
}
