import { Command } from 'commander';
import { koKey } from '../../src/knowledge-object/id.ts';
import { activateSources, runtimesFor } from '../lib/activate-sources.ts';
import { compileProblems } from '../lib/compile.ts';
import type { Context } from '../lib/context.ts';
import { EXIT } from '../lib/exit.ts';
import type { ExitCode } from '../lib/exit.ts';
import { printFindings, problem, sorted } from '../lib/findings.ts';
import type { Finding } from '../lib/findings.ts';
import { inspect } from '../lib/inspect.ts';
import type { Inspection } from '../lib/inspect.ts';
import { openSources } from '../lib/ko-source.ts';
import type { LocalActivator } from '../lib/local-activator.ts';
import { inOneLine } from '../lib/report-examples.ts';
import { activationProblems, tryExamples } from '../lib/try-knowledge-object.ts';
import { count } from '../lib/terminal.ts';
import type { Terminal } from '../lib/terminal.ts';
import { EXAMPLES_FILE } from '../lib/worked-examples.ts';

interface CheckOptions {
  readonly with: readonly string[];
  readonly run?: boolean;
  readonly json?: boolean;
}

interface Checked {
  readonly inspection: Inspection;
  /** Sorted. */
  readonly findings: readonly Finding[];
  readonly examples: { readonly passed: number; readonly failed: number; readonly notRun: number };
}

export function checkCommand(context: Context): Command {
  return new Command('check')
    .description('Name everything that is wrong with knowledge objects, each with file and line')
    .argument('<dir|zip...>', 'knowledge objects, or folders of them')
    .option('--run', 'also start the node and python runtimes that they need')
    .option('--with <dir|zip...>', 'knowledge objects that these call', [])
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Examples:
  kgrid check my-score                 metadata, descriptors, code and worked examples
  kgrid check my-score.zip             what an activator would say of this upload
  kgrid check my-model --run           a node or python object, in its real runtime
  kgrid check examples                 every knowledge object in a folder

Problems are printed as file:line: what is wrong and what to do. Exit code: 0 none (there may be warnings), 1 some.`,
    )
    .action(async (paths: string[], options: CheckOptions) => {
      process.exitCode = await check(context, paths, options);
    });
}

async function check(
  { env, terminal: open }: Context,
  paths: readonly string[],
  options: CheckOptions,
): Promise<ExitCode> {
  const terminal = open(options);
  await using sources = await openSources(paths);
  await using called = await openSources(options.with);
  const inspections = await Promise.all(sources.map(inspect));
  const all = [...inspections, ...(await Promise.all(called.map(inspect)))];
  const runtimes = options.run === true ? runtimesFor(all) : [];
  await using activator = await activateSources(all, { env, terminal, runtimes, showConsole: false });
  const checked: Checked[] = [];
  for (const inspection of inspections) {
    const one = await checkOne(inspection, activator, runtimes, terminal);
    printChecked(one, terminal);
    checked.push(one);
  }
  const ok = checked.every(({ findings }) => findings.every(({ severity }) => severity === 'warning'));
  terminal.json({ ok, kos: checked.map(asJson) });
  return ok ? EXIT.ok : EXIT.problems;
}

async function checkOne(
  inspection: Inspection,
  activator: LocalActivator,
  runtimes: readonly string[],
  terminal: Terminal,
): Promise<Checked> {
  const { source, ko, examples } = inspection;
  const findings = [...inspection.findings];
  const javascript = activator.app.engines.get('javascript');
  if (javascript !== undefined) findings.push(...(await compileProblems(inspection, javascript)));
  if (ko === undefined) {
    return { inspection, findings: sorted(findings), examples: { passed: 0, failed: 0, notRun: examples.length } };
  }
  const trial = { source, ko, examples, activator, runtimes };
  findings.push(...(await activationProblems(trial)));
  const results = await tryExamples(trial, (name) => terminal.progress(`${ko.key}: ${name} …`));
  const failed = results.filter(({ passed }) => !passed);
  findings.push(...failed.map((result) => problem(EXAMPLES_FILE, result.line, inOneLine(result))));
  const counts = { passed: results.length - failed.length, failed: failed.length };
  return { inspection, findings: sorted(findings), examples: { ...counts, notRun: examples.length - results.length } };
}

function printChecked({ inspection, findings, examples }: Checked, terminal: Terminal): void {
  const { source, ko, metadata } = inspection;
  const name = metadata === undefined ? source.label : koKey(metadata.id);
  printFindings(source, findings, terminal);
  const problems = findings.filter(({ severity }) => severity === 'problem').length;
  const warnings = findings.length - problems;
  const facts = [
    ...(problems > 0 ? [terminal.bad(count(problems, 'problem'))] : [terminal.good('no problems')]),
    ...(warnings > 0 ? [terminal.warning(count(warnings, 'warning'))] : []),
    ...(examples.passed > 0 ? [`${count(examples.passed, 'worked example')} passed`] : []),
    ...(examples.failed > 0 ? [`${count(examples.failed, 'worked example')} failed`] : []),
    ...(examples.notRun > 0
      ? [`${count(examples.notRun, 'worked example')} not run${reasonNotRun(ko !== undefined && problems === 0)}`]
      : []),
  ];
  terminal.print(`${terminal.bold(name)}: ${facts.join(', ')}`);
}

const reasonNotRun = (needsRuntime: boolean): string => (needsRuntime ? ' (--run starts the runtimes)' : '');

const asJson = ({ inspection: { source, metadata }, findings, examples }: Checked): unknown => ({
  source: source.label,
  ko: metadata === undefined ? null : koKey(metadata.id),
  ok: findings.every(({ severity }) => severity === 'warning'),
  findings,
  examples,
});
