import { Command } from 'commander';
import { networkNote, wantedHosts } from '../../src/engines/network/wanted.ts';
import { koKey, nameKey } from '../../src/knowledge-object/id.ts';
import { formatHostPort } from '../../src/lib/host-port.ts';
import type { HostPort } from '../../src/lib/host-port.ts';
import { activateSources, runtimesFor } from '../lib/activate-sources.ts';
import { checkKnowledgeObject, hasProblems } from '../lib/check-knowledge-object.ts';
import type { Checked } from '../lib/check-knowledge-object.ts';
import type { Context } from '../lib/context.ts';
import { ENGINES } from '../lib/engines.ts';
import { examineAll } from '../lib/examine.ts';
import { EXIT } from '../lib/exit.ts';
import type { ExitCode } from '../lib/exit.ts';
import { entriesOf, inspectAll } from '../lib/inspect.ts';
import type { Inspection } from '../lib/inspect.ts';
import { libraryAdvice } from '../lib/library-advice.ts';
import { openSources } from '../lib/ko-source.ts';
import { printChecked } from '../lib/report-checked.ts';

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
  const found = await inspectAll([...sources, ...called]);
  const engines = options.engine.map((each) => each.toLowerCase());
  const all = [...(await examineAll(found.slice(0, sources.length), engines)), ...found.slice(sources.length)];
  const runtimes = options.run === true ? runtimesFor(all) : [];
  await using activator = await activateSources(all, { env, terminal, runtimes, showConsole: false });
  const checked: Checked[] = [];
  for (const inspection of all.slice(0, sources.length)) {
    const one = await checkKnowledgeObject(inspection, activator, runtimes, terminal);
    printChecked(one, terminal, (engine) => (ENGINES.has(engine) ? '--run does' : 'it is not available here'));
    const note = networkNoteOf(inspection);
    if (note !== '') terminal.print(`  ${note}`);
    const advice = libraryAdvice(inspection);
    if (advice !== undefined) {
      const lacks =
        advice.missing.length === 0 ? '' : `; an entry in a library would also state ${advice.missing.join(', ')}`;
      terminal.print(terminal.dim(`  read as generation ${advice.generation}${lacks}`));
    }
    checked.push(one);
  }
  const fails = ({ findings }: Pick<Checked, 'findings'>): boolean =>
    options.strict === true ? findings.length > 0 : hasProblems({ findings });
  const ok = !checked.some(fails);
  terminal.json({ ok, kos: checked.map((each) => asJson(each, !fails(each))) });
  return ok ? EXIT.ok : EXIT.problems;
}

/** What its code asks to connect to. */
const networkOf = ({ services }: Inspection): HostPort[] =>
  wantedHosts(services.flatMap(({ deployment }) => entriesOf(deployment)));

const networkNoteOf = (inspection: Inspection): string =>
  inspection.metadata === undefined ? '' : networkNote(nameKey(inspection.metadata.id), networkOf(inspection));

const asJson = ({ inspection, findings, examples, untried }: Checked, ok: boolean): unknown => ({
  source: inspection.source.label,
  ko: inspection.metadata === undefined ? null : koKey(inspection.metadata.id),
  ok,
  generation: inspection.metadata?.generation ?? null,
  findings,
  network: networkOf(inspection).map(formatHostPort),
  advice: libraryAdvice(inspection)?.missing ?? [],
  examples,
  untried,
});
