import type { Checked } from '../../src/check/check-knowledge-object.ts';
import type { Finding } from '../../src/check/findings.ts';
import { type KoSource, placeIn } from '../../src/check/ko-source.ts';
import { type ExampleResult, pathOf } from '../../src/check/run-examples.ts';
import { koKey } from '../../src/knowledge-object/id.ts';
import { EXAMPLES_FILE } from '../../src/knowledge-object/worked-examples.ts';
import { count, type Terminal } from './terminal.ts';

/**
 * The findings, and a line that sums them up.
 * @param remedyFor what to do about the code of an engine that was not tried, or why it was not.
 */
export function printChecked(
  { inspection, findings, examples, untried }: Checked,
  terminal: Terminal,
  remedyFor: (engine: string) => string,
): void {
  const { source, metadata } = inspection;
  const name = metadata === undefined ? source.label : koKey(metadata.id);
  printFindings(source, findings, terminal);
  const problems = findings.filter(({ severity }) => severity === 'problem').length;
  const warnings = findings.length - problems;
  const facts = [
    ...(problems > 0 ? [terminal.bad(count(problems, 'problem'))] : [terminal.good('no problems')]),
    ...(warnings > 0 ? [terminal.warning(count(warnings, 'warning'))] : []),
    ...(examples.passed > 0 ? [`${count(examples.passed, 'worked example')} passed`] : []),
    ...(examples.failed > 0 ? [`${count(examples.failed, 'worked example')} failed`] : []),
    ...(examples.notRun > 0 ? [`${count(examples.notRun, 'worked example')} not run`] : []),
  ];
  const left = untried.map((engine) => `the code of engine ${engine} was not tried: ${remedyFor(engine)}`);
  const reason = left.length === 0 ? '' : ` (${left.join('; ')})`;
  terminal.print(`${terminal.bold(name)}: ${facts.join(', ')}${reason}`);
}

export function printFindings(source: KoSource, findings: readonly Finding[], terminal: Terminal): void {
  for (const { severity, file, line, message } of findings) {
    const place = terminal.bold(placeIn(source, file, line));
    terminal.print(
      severity === 'problem' ? `${place}: ${message}` : `${place}: ${terminal.warning('warning')}: ${message}`,
    );
  }
}

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
