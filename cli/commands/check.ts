import { Command } from 'commander';
import { type Checked, hasProblems } from '../../src/check/check-knowledge-object.ts';
import { checkSources, libraryAdvice, networkNoteOf, reportOf } from '../../src/check/check-sources.ts';
import { ENGINES } from '../../src/check/engines.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode } from '../lib/exit.ts';
import { openSources } from '../lib/open-sources.ts';
import { printChecked } from '../lib/report-checked.ts';
import type { Terminal } from '../lib/terminal.ts';

interface CheckOptions {
  readonly with: readonly string[];
  readonly run?: boolean;
  readonly strict?: boolean;
  readonly engine: readonly string[];
  readonly json?: boolean;
}

export function checkCommand(context: Context): Command {
  return new Command('check')
    .description('Name everything that is wrong with knowledge objects, each with file and line')
    .argument('<dir|zip...>', 'knowledge objects, or folders of them')
    .option('--run', 'also start the node and python runtimes that they need')
    .option('--strict', 'warnings count as problems')
    .option('--engine <name...>', 'engines for which runtimes of others register where these will run', [])
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
  kgrid check my-score --strict        for a pipeline that lets nothing pass

Below each stands what its code asks for of the network (network: in the deployment descriptor), which generation of knowledge objects it was read as, and what a library would miss: advice, never
a warning. Problems are printed as file:line: what is wrong and what to do. Exit code: 0 none (there may be warnings,
unless --strict is given), 1 some.`,
    )
    .action(async (paths: string[], options: CheckOptions) => {
      context.exitCode = await check(context, paths, options);
    });
}

async function check(
  { env, terminal: open }: Context,
  paths: readonly string[],
  options: CheckOptions,
): Promise<ExitCode> {
  const terminal = open(options);
  await using sources = await openSources(paths, terminal);
  await using called = await openSources(options.with, terminal);
  const checked = await checkSources(sources, {
    env,
    terminal,
    called,
    engines: options.engine.map((each) => each.toLowerCase()),
    startsRuntimes: options.run === true,
    onChecked: (one) => print(one, terminal),
  });
  const fails = ({ findings }: Pick<Checked, 'findings'>): boolean =>
    options.strict === true ? findings.length > 0 : hasProblems({ findings });
  const ok = !checked.some(fails);
  terminal.json({ ok, kos: checked.map((each) => reportOf(each, !fails(each))) });
  return ok ? EXIT.ok : EXIT.problems;
}

function print(checked: Checked, terminal: Terminal): void {
  const { inspection } = checked;
  printChecked(checked, terminal, (engine) => (ENGINES.has(engine) ? '--run does' : 'it is not available here'));
  const note = networkNoteOf(inspection);
  if (note !== '') terminal.print(`  ${note}`);
  const advice = libraryAdvice(inspection);
  if (advice === undefined) return;
  const lacks =
    advice.missing.length === 0 ? '' : `; an entry in a library would also state ${advice.missing.join(', ')}`;
  terminal.print(terminal.dim(`  read as generation ${advice.generation}${lacks}`));
}
