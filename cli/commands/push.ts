import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { activateSources, runtimesFor } from '../../src/check/activate-sources.ts';
import { activationProblem, type Checked, checkKnowledgeObject } from '../../src/check/check-knowledge-object.ts';
import { examineAll } from '../../src/check/examine.ts';
import { inspectAll, type Inspection } from '../../src/check/inspect.ts';
import { type KoSource, placeIn } from '../../src/check/ko-source.ts';
import { escapeForMessage } from '../../src/lib/text.ts';
import type { ActivatorClient, ListedEndpoint } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { CommandFailure, EXIT, type ExitCode, usageFailure } from '../lib/exit.ts';
import { openSources } from '../lib/open-sources.ts';
import { pack } from '../lib/pack.ts';
import { type FileDifference, packageDifferences, printDifferences } from '../lib/package-differences.ts';
import { activate, type Ready, upload } from '../lib/publish.ts';
import { fetchPackage } from '../lib/remote-package.ts';
import { connect, type EngineState, readHealth, type RemoteOptions, withRemoteOptions } from '../lib/remote.ts';
import { printChecked, printFindings } from '../lib/report-checked.ts';
import { isActive } from '../lib/report-endpoints.ts';
import { count, type Terminal } from '../lib/terminal.ts';

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

// What is looked at at an activator before anything is uploaded to it.

/**
 * The engines of the activator; undefined where it does not tell them, which one that asks for a login first does not.
 * @throws CommandFailure when it cannot be reached.
 */
async function enginesAt(client: ActivatorClient): Promise<readonly EngineState[] | undefined> {
  const answer = await client.send('/actuator/health');
  return answer.status === 200 ? (await readHealth(client)).engines : undefined;
}

/** @throws CommandFailure that names all engines that are needed and not there. */
function requireEngines(ready: readonly Ready[], engines: readonly EngineState[], { url }: ActivatorClient): void {
  const missing = ready.flatMap(({ source, ko }) =>
    ko.declared.flatMap(({ from: { deployment }, entry: { engine, line } }) => {
      const why = absence(engines, engine);
      return why === undefined
        ? []
        : [`${placeIn(source, deployment.file, line)}: the engine ${escapeForMessage(engine)} ${why}`];
    }),
  );
  if (missing.length === 0) return;
  const known = engines
    .filter(({ name }) => absence(engines, name) === undefined)
    .map(({ name }) => escapeForMessage(name));
  throw new CommandFailure(
    EXIT.problems,
    [
      ...missing,
      `Nothing was uploaded, since ${url} has only the engines ${known.join(', ')}: start a runtime for the other there, or say --any-engine to upload all the same`,
    ].join('\n'),
  );
}

function absence(engines: readonly EngineState[], wanted: string): string | undefined {
  const engine = engines.find(({ name }) => name.toLowerCase() === wanted);
  if (engine === undefined) return 'is not there';
  if (engine.runtimes !== 0 || engine.starting) return undefined;
  return `has no runtime there${engine.problem === undefined ? '' : ` (${engine.problem})`}`;
}

type Before = 'new' | 'same' | 'other';

/** By key, what is on the shelf of the activator already. @throws CommandFailure where it must not be replaced. */
async function lookBefore(
  ready: readonly Ready[],
  client: ActivatorClient,
  terminal: Terminal,
  replace: boolean,
): Promise<ReadonlyMap<string, Before>> {
  const before = new Map<string, Before>();
  const others: { key: string; found: readonly FileDifference[] }[] = [];
  for (const { source, ko } of ready) {
    terminal.progress(`comparing ${ko.key} …`);
    await using there = await fetchPackage(client, ko.key);
    const found = there === undefined ? undefined : await packageDifferences(there.source, source);
    before.set(ko.key, found === undefined ? 'new' : found.length === 0 ? 'same' : 'other');
    if (found !== undefined && found.length > 0) others.push({ key: ko.key, found });
  }
  if (others.length === 0 || replace) return before;
  for (const { key, found } of others) {
    terminal.print(`${client.url} has another ${key}:`);
    printDifferences(found, terminal);
  }
  const [one] = others;
  const what = others.length === 1 ? (one?.key ?? '') : `these ${others.length} knowledge objects`;
  const answer = await terminal.confirm(`Replace ${what} at ${client.url}?`);
  if (answer === true) return before;
  throw usageFailure(
    answer === false
      ? 'Nothing was uploaded'
      : `Nothing was uploaded, since ${client.url} has another ${others.map(({ key }) => key).join(', ')}: say --replace to replace what is there, or give a new version; "kgrid diff" shows what differs`,
  );
}

/** What a push leaves out, and goes on, where it is told to keep going. */
interface NotPushed {
  readonly source: string;
  readonly cause: string;
}

class LeftOut {
  readonly all: NotPushed[] = [];
  readonly #keepsGoing: boolean;
  readonly #terminal: Terminal;

  constructor(keepsGoing: boolean, terminal: Terminal) {
    this.#keepsGoing = keepsGoing;
    this.#terminal = terminal;
  }

  has(source: string): boolean {
    return this.all.some((each) => each.source === source);
  }

  add(source: string, cause: string): void {
    this.all.push({ source, cause });
  }

  /**
   * Does something to all of them, or, where it keeps going, to one after the other; gives those with which it went well.
   * @throws CommandFailure of the first where it does not keep going, and where the activator is out of reach.
   */
  async without(ready: readonly Ready[], work: (some: readonly Ready[]) => Promise<void>): Promise<readonly Ready[]> {
    if (!this.#keepsGoing) {
      await work(ready);
      return ready;
    }
    const well: Ready[] = [];
    for (const each of ready) {
      try {
        await work([each]);
        well.push(each);
      } catch (thrown) {
        if (!(thrown instanceof CommandFailure) || thrown.exitCode === EXIT.unreachable) throw thrown;
        this.add(each.source.label, thrown.message);
      }
    }
    return well;
  }

  print(): void {
    if (this.all.length === 0) return;
    const terminal = this.#terminal;
    terminal.print(terminal.bad(`${count(this.all.length, 'knowledge object')} not pushed:`));
    for (const { source, cause } of this.all) terminal.print(`  ${source}: ${cause}`);
  }
}
