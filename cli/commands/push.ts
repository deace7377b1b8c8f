import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { activateSources, runtimesFor } from '../../src/check/activate-sources.ts';
import { checkKnowledgeObject } from '../../src/check/check-knowledge-object.ts';
import type { Checked } from '../../src/check/check-knowledge-object.ts';
import type { ActivatorClient, ListedEndpoint } from '../lib/client.ts';
import { activationProblem } from '../../src/check/compile.ts';
import type { Context } from '../lib/context.ts';
import { examineAll } from '../../src/check/examine.ts';
import { EXIT, CommandFailure } from '../lib/exit.ts';
import type { ExitCode } from '../lib/exit.ts';
import { printFindings } from '../lib/print-findings.ts';
import { inspectAll } from '../../src/check/inspect.ts';
import type { Inspection } from '../../src/check/inspect.ts';
import { openSources } from '../lib/open-sources.ts';
import type { KoSource } from '../../src/check/ko-source.ts';
import { pack } from '../lib/pack.ts';
import { enginesAt, lookBefore, requireEngines } from '../lib/before-push.ts';
import type { Before } from '../lib/before-push.ts';
import { LeftOut } from '../lib/left-out.ts';
import { activate, upload } from '../lib/publish.ts';
import type { Ready } from '../lib/publish.ts';
import { connect, withRemoteOptions } from '../lib/remote.ts';
import type { RemoteOptions } from '../lib/remote.ts';
import { printChecked } from '../lib/report-checked.ts';
import { isActive } from '../lib/report-endpoints.ts';
import { count } from '../lib/terminal.ts';
import type { Terminal } from '../lib/terminal.ts';

interface PushOptions extends RemoteOptions {
  readonly test: boolean;
  readonly with: readonly string[];
  readonly replace?: boolean;
  readonly anyEngine?: boolean;
  readonly keepGoing?: boolean;
}

export function pushCommand(context: Context): Command {
  const command = new Command('push')
    .description('Upload knowledge objects to an activator and activate them there')
    .argument('<dir|zip...>', 'knowledge objects, or folders of them or of their zips')
    .option('--no-test', 'do not load their code and run their worked examples on this machine first')
    .option('--with <dir|zip...>', 'knowledge objects that these call; they are not uploaded', [])
    .option('--replace', 'replace versions that are there with another content, without asking')
    .option('--any-engine', 'upload also what needs an engine that is not there')
    .option('--keep-going', 'leave out what cannot be pushed, and push the others');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid push my-score --url http://127.0.0.1:8080
  KGRID_URL=https://kgrid.example.org KGRID_USER=ann KGRID_PASSWORD=… kgrid push my-score other-score.zip
  kgrid push my-score --url https://kgrid.example.org --token-env MY_TOKEN

Before that all are checked, and their worked examples run on this machine: nothing is uploaded when one of them has
problems, or needs an engine that the activator does not have, but with --keep-going. Exit code: 0 all endpoints are active, 1 problems or an
endpoint that does not run, 2 a version with another content is there and was not to be replaced, 3 the activator is
out of reach or refuses the login.`,
    )
    .action(async (paths: string[], options: PushOptions) => {
      context.exitCode = await push(context, paths, options);
    });
}

async function push(context: Context, paths: readonly string[], options: PushOptions): Promise<ExitCode> {
  const { terminal, client } = connect(context, options);
  await using sources = await openSources(paths, terminal);
  const checked = options.test
    ? await tryHere(context, sources, options, terminal)
    : (await examineAll(await inspectAll(sources))).map(untried);
  for (const each of checked) printChecked(each, terminal, () => 'it is not available here');
  const problems = checked.flatMap(({ inspection: { source }, findings }) =>
    findings.filter(({ severity }) => severity === 'problem').map((each) => ({ source: source.label, ...each })),
  );
  const leftOut = new LeftOut(options.keepGoing === true, terminal);
  if (problems.length > 0 && options.keepGoing !== true) {
    terminal.print(terminal.bad(`${count(problems.length, 'problem')}: nothing was uploaded`));
    terminal.json({ ok: false, problems });
    return EXIT.problems;
  }
  for (const [label, own] of Map.groupBy(problems, ({ source }) => source))
    leftOut.add(label, count(own.length, 'problem'));
  const sound = checked.filter(({ inspection: { source } }) => !leftOut.has(source.label));
  const engines = options.anyEngine === true ? undefined : await enginesAt(client);
  const runnable = await leftOut.without(await Promise.all(sound.map(makeReady)), (some) => {
    if (engines !== undefined) requireEngines(some, engines, client);
    return Promise.resolve();
  });
  const before = new Map<string, Before>();
  const ready = await leftOut.without(runnable, async (some) => {
    for (const each of await lookBefore(some, client, terminal, options.replace === true)) before.set(...each);
  });
  const pushed = await bring(ready, { client, terminal, before, leftOut });
  const endpoints = pushed.endpoints.filter(isActive).length;
  const isWhole = endpoints === pushed.endpoints.length;
  const summary = `${endpoints} of ${count(pushed.endpoints.length, 'endpoint')} active`;
  terminal.print(isWhole ? terminal.good(summary) : terminal.bad(summary));
  leftOut.print();
  const ok = isWhole && leftOut.all.length === 0;
  const notPushed = options.keepGoing === true ? { notPushed: leftOut.all } : {};
  terminal.json({ ok, url: client.url, ...pushed, ...notPushed });
  return ok ? EXIT.ok : EXIT.problems;
}

interface Bringing {
  readonly client: ActivatorClient;
  readonly terminal: Terminal;
  /** By key, what is there. */
  readonly before: ReadonlyMap<string, Before>;
  readonly leftOut: LeftOut;
}

interface Brought {
  readonly kos: readonly string[];
  readonly replaced: readonly string[];
  readonly unchanged: readonly string[];
  readonly endpoints: readonly ListedEndpoint[];
}

/** Uploads and activates. All are there before the first is activated, since they may call each other. */
async function bring(ready: readonly Ready[], { client, terminal, before, leftOut }: Bringing): Promise<Brought> {
  const replaced = new Set<string>();
  const unchanged: string[] = [];
  const there = await leftOut.without(ready, async (some) => {
    for (const each of some) {
      const { key } = each.ko;
      if (before.get(key) === 'same') {
        unchanged.push(key);
        terminal.print(`${key} is at ${client.url} already, with the same content: nothing was uploaded`);
        continue;
      }
      const digests = await upload(each, client, terminal);
      if (before.get(key) !== 'other' && digests === undefined) continue;
      replaced.add(key);
      const which = digests === undefined ? '' : `: ${digests.replace(', ', ' → ')}`;
      terminal.print(terminal.dim(`  in place of another${which}`));
    }
  });
  const endpoints: ListedEndpoint[] = [];
  const brought = await leftOut.without(there, async (some) => {
    for (const each of some) {
      const found = await activate(each.ko, client, terminal);
      for (const endpoint of found) await printEndpoint(endpoint, each, client, terminal);
      if (replaced.has(each.ko.key) && !found.every(isActive))
        terminal.print(terminal.warning(`  The package of ${each.ko.key} that was there before has been replaced`));
      endpoints.push(...found);
    }
  });
  return { kos: brought.map(({ ko }) => ko.key), replaced: [...replaced], unchanged, endpoints };
}

/** With all runtimes that this machine has: what needs another is left to the activator. */
async function tryHere(
  { env }: Context,
  sources: readonly KoSource[],
  options: PushOptions,
  terminal: Terminal,
): Promise<Checked[]> {
  await using called = await openSources(options.with, terminal);
  const found = await inspectAll([...sources, ...called]);
  const all = [...(await examineAll(found.slice(0, sources.length))), ...found.slice(sources.length)];
  const wanted = runtimesFor(all);
  await using activator = await activateSources(all, { env, terminal, runtimes: wanted, showConsole: false });
  const runtimes = wanted.filter((name) => activator.app.engines.get(name)?.health().status === 'UP');
  const checked: Checked[] = [];
  for (const each of all.slice(0, sources.length))
    checked.push(await checkKnowledgeObject(each, activator, runtimes, terminal));
  return checked;
}

const untried = (inspection: Inspection): Checked => ({
  inspection,
  findings: inspection.findings,
  examples: { passed: 0, failed: 0, notRun: inspection.examples.length },
  untried: [],
});

async function makeReady({ inspection }: Checked): Promise<Ready> {
  const { source, ko } = inspection;
  if (ko === undefined) throw new CommandFailure(EXIT.problems, `${source.label} cannot be pushed`);
  return { source, ko, archive: source.isArchive ? await readFile(source.path) : (await pack(inspection)).archive };
}

async function printEndpoint(
  endpoint: ListedEndpoint,
  { source, ko }: Ready,
  { url }: ActivatorClient,
  terminal: Terminal,
): Promise<void> {
  const { id, status, detail = '' } = endpoint;
  const declared = ko.declared.find(({ entry }) => id.endsWith(entry.path));
  const word = isActive(endpoint) ? terminal.good(status) : terminal.bad(status);
  terminal.print(
    `  ${word}  ${declared?.entry.method.toUpperCase() ?? (ko.library === undefined ? '' : 'POST')} ${url}/${id}`,
  );
  if (isActive(endpoint) || declared === undefined) return;
  const { from, entry } = declared;
  printFindings(source, [await activationProblem(source, from.deployment, entry, detail)], terminal);
}
