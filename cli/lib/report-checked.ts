import { koKey } from '../../src/knowledge-object/id.ts';
import type { Checked } from '../../src/check/check-knowledge-object.ts';
import { printFindings } from './print-findings.ts';
import { count } from './terminal.ts';
import type { Terminal } from './terminal.ts';

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
