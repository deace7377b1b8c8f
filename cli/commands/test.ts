import { Command } from 'commander';
import { activateSources, runtimesFor } from '../../src/check/activate-sources.ts';
import { activationProblems, type Trial } from '../../src/check/check-knowledge-object.ts';
import { foreignEngines } from '../../src/check/engines.ts';
import { brokenExamples } from '../../src/check/examine.ts';
import { type Finding, problem, sorted } from '../../src/check/findings.ts';
import { inspectAll, type Inspection } from '../../src/check/inspect.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { type ExampleResult, runExamples } from '../../src/check/run-examples.ts';
import { koKey } from '../../src/knowledge-object/id.ts';
import { EXAMPLES_FILE } from '../../src/knowledge-object/worked-examples.ts';
import { mapBounded } from '../../src/lib/fair-queue.ts';
import { ActivatorClient } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode } from '../lib/exit.ts';
import { openSources } from '../lib/open-sources.ts';
import { remoteActivator, type RemoteOptions, withRemoteOptions } from '../lib/remote.ts';
import { printExample, printFindings } from '../lib/report-checked.ts';
import { count, type Terminal } from '../lib/terminal.ts';

interface TestOptions extends RemoteOptions {
  readonly with: readonly string[];
}

/** What came of one knowledge object. */
interface Tested {
  readonly inspection: Inspection;
  readonly findings: readonly Finding[];
  readonly results: readonly ExampleResult[];
}

export function testCommand(context: Context): Command {
  const command = new Command('test')
    .description('Run the worked examples of knowledge objects at a real activator')
    .argument('<dir|zip...>', 'knowledge objects, or folders of them')
    .option('--with <dir|zip...>', 'knowledge objects that these call', []);
  return withRemoteOptions(command, 'run them at this activator, where the knowledge objects are active')
    .addHelpText(
      'after',
      `
Examples:
  kgrid test my-score                            starts an activator, runs the examples, stops it
  kgrid test my-score --with examples/cpic-cyp2c19-v1.0
  kgrid test my-score --url http://127.0.0.1:8080

The examples are those of worked-examples.yaml. Exit code: 0 all passed, 1 one failed or there are none.`,
    )
    .action(async (paths: string[], options: TestOptions) => {
      context.exitCode = await test(context, paths, options);
    });
}

async function test(context: Context, paths: readonly string[], options: TestOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  await using sources = await openSources(paths, terminal);
  const tested =
    options.url === undefined
      ? await testHere(context, sources, options, terminal)
      : await testThere(context, sources, options, terminal);
  const results = tested.flatMap((each) => each.results);
  const failed = results.filter(({ passed }) => !passed).length;
  const problems = tested.flatMap((each) => each.findings).length;
  const passed = results.length - failed;
  terminal.print();
  const summary = `${count(results.length, 'example')}: ${passed} passed, ${failed} failed${problems > 0 ? `; ${count(problems, 'problem')}` : ''}`;
  terminal.print(failed + problems > 0 ? terminal.bad(summary) : terminal.good(summary));
  terminal.json({
    ok: failed + problems === 0,
    passed,
    failed,
    kos: tested.map(({ inspection, findings, results: examples }) => ({
      source: inspection.source.label,
      ko: inspection.metadata === undefined ? null : koKey(inspection.metadata.id),
      problems: findings,
      examples,
    })),
  });
  return failed + problems === 0 ? EXIT.ok : EXIT.problems;
}

async function testHere(
  { env }: Context,
  sources: readonly KoSource[],
  options: TestOptions,
  terminal: Terminal,
): Promise<Tested[]> {
  await using called = await openSources(options.with, terminal);
  const all = await inspectAll([...sources, ...called]);
  const runtimes = runtimesFor(all);
  await using activator = await activateSources(all, { env, terminal, runtimes, showConsole: true });
  const client = new ActivatorClient(activator.url);
  // Awaited here: the activator must outlive the calls.
  return await mapBounded(all.slice(0, sources.length), 1, (each) =>
    testOne(each, client, terminal, { activator, runtimes }),
  );
}

async function testThere(
  { env }: Context,
  sources: readonly KoSource[],
  options: TestOptions,
  terminal: Terminal,
): Promise<Tested[]> {
  const client = remoteActivator(options, env, terminal);
  return mapBounded(await inspectAll(sources), 1, (each) => testOne(each, client, terminal));
}

async function testOne(
  inspection: Inspection,
  client: ActivatorClient,
  terminal: Terminal,
  here?: Pick<Trial, 'activator' | 'runtimes'>,
): Promise<Tested> {
  const { source, ko, examples } = inspection;
  terminal.print(
    `${terminal.bold(ko?.key ?? source.label)}  ${terminal.dim(ko === undefined ? '' : source.label)}`.trimEnd(),
  );
  const findings = stoppers(inspection);
  if (ko !== undefined && here !== undefined) {
    const trial = { source, ko, examples, ...here };
    findings.push(...ko.services.flatMap((each) => foreignEngines(each.deployment, [])));
    findings.push(...(await activationProblems(trial)));
  }
  // What keeps an endpoint from running stands before the examples that fail for it.
  printFindings(source, sorted([...findings, ...(await brokenExamples(inspection))]), terminal);
  if (ko === undefined) return { inspection, findings, results: [] };
  const address = { key: ko.key, apiVersion: ko.services[0]?.apiVersion ?? ko.id.version };
  const results = await runExamples(
    client,
    address,
    examples,
    (name) => terminal.progress(`${ko.key}: ${name} …`),
    here?.activator.places,
  );
  for (const result of results) printExample(source, result, terminal);
  return { inspection, findings: sorted(findings), results };
}

/** Why not all can be tried. */
function stoppers({ findings, examples }: Inspection): Finding[] {
  const problems = findings.filter(({ severity }) => severity === 'problem');
  if (problems.length > 0 || examples.length > 0) return problems;
  return [
    problem(
      EXAMPLES_FILE,
      undefined,
      'there are no worked examples, so nothing was tried: add calls and the answers they must give',
    ),
  ];
}
