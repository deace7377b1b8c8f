import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { runtimesFor } from '../../src/check/activate-sources.ts';
import { activationProblems, type Trial, tryExamples } from '../../src/check/check-knowledge-object.ts';
import { foreignEngines } from '../../src/check/engines.ts';
import { type Finding, sorted } from '../../src/check/findings.ts';
import { inspect } from '../../src/check/inspect.ts';
import { LocalActivator } from '../../src/check/local-activator.ts';
import type { ExampleResult } from '../../src/check/run-examples.ts';
import type { Context } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import {
  activateChanges,
  type Change,
  type Changes,
  findPlayed,
  nameOf,
  type PlayedFolders,
  Playground,
} from '../lib/playground.ts';
import { printExample, printFindings } from '../lib/report-checked.ts';
import { count, type Terminal } from '../lib/terminal.ts';

interface PlayOptions {
  readonly port: number;
  readonly test: boolean;
  readonly poll?: boolean;
  readonly json?: boolean;
}

export function playCommand(context: Context): Command {
  return new Command('play')
    .description('Serve a folder while you write in it: each saved file is active at once')
    .argument('<dir>', 'a knowledge object, or a folder of them')
    .option('--port <port>', 'port to listen on; 0 picks a free one', toPort, 8080)
    .option('--no-test', 'do not run the worked examples after each change')
    .option('--poll', 'look for changes twice a second, for folders whose system does not tell of them')
    .option('--json', 'print one JSON object a line for each thing that happens')
    .addHelpText(
      'after',
      `
Examples:
  kgrid play my-score
  kgrid play examples --port 9000
  kgrid play /mnt/shared/my-score --poll

It listens on this machine only, in the dev profile. The folder itself is only read. Ctrl-C ends it.`,
    )
    .action(async (folder: string, options: PlayOptions) => {
      await play(context, folder, options);
    });
}

async function play({ env, terminal: open, interrupted }: Context, root: string, options: PlayOptions): Promise<void> {
  const terminal = open(options);
  const ended = interrupted();
  await requireFolder(root);
  const first = await findPlayed(root);
  if (first.sources.size === 0) {
    throw usageFailure(
      `There is no knowledge object in ${root}, that is no folder with a metadata.json: "kgrid create ${root}/my-score" makes one`,
    );
  }
  terminal.progress('starting an activator …');
  const runtimes = runtimesFor(await Promise.all([...first.sources.values()].map(inspect)));
  const playground = new Playground();
  let changes: Changes = { changed: [], gone: [], complete: true };
  await using activator = await LocalActivator.start({
    env,
    runtimes,
    port: options.port,
    onConsole: (ko, text) => terminal.note(terminal.dim(`${ko} | ${text}`)),
    onFailure: (ko, text) => terminal.note(`${ko} | ${terminal.bad(text)}`),
    fill: async (shelf) => void (changes = await playground.update(shelf, first.sources)),
  });
  terminal.print(
    `Serving ${count(first.sources.size, 'knowledge object')} at ${terminal.bold(`${activator.url}/`)}; Ctrl-C ends it`,
  );
  terminal.json({ event: 'listening', url: activator.url });
  const session = { activator, terminal, runtimes, runsTests: options.test };

  const turns = new Turns();
  using watcher = new FolderWatcher(root, () => turns.ask(), { poll: options.poll ?? false });
  watcher.watch(first.folders);
  void ended.then(() => turns.end());
  if (!changes.complete) turns.ask();
  let undecided = await reportChanges(session, changes, turns.waiting());
  while (await turns.next()) {
    const { sources, folders } = await look(root);
    watcher.watch(folders);
    changes = await playground.update(activator.shelf, sources);
    if (!changes.complete) turns.ask();
    await activateChanges(activator, changes);
    const saved = new Set(changes.changed.map(({ inspection }) => inspection.source.path));
    const waiting = undecided.filter(({ inspection }) => !saved.has(inspection.source.path));
    const changed = [...waiting, ...changes.changed];
    undecided = await reportChanges(session, { ...changes, changed }, turns.waiting());
  }
  terminal.print();
  terminal.json({ event: 'ended' });
}

/** One look at the folder after the other: however often it is asked for meanwhile, there is one more. */
class Turns {
  #asked = false;
  #ended = false;
  #waiters: (() => void)[] = [];

  ask(): void {
    this.#asked = true;
    for (const notify of this.#waiters.splice(0)) notify();
  }

  end(): void {
    this.#ended = true;
    for (const notify of this.#waiters.splice(0)) notify();
  }

  /** Resolves when a look is due; false when it is over. */
  async next(): Promise<boolean> {
    await this.waiting();
    this.#asked = false;
    return !this.#ended;
  }

  /** Resolves as soon as there is something to do. */
  async waiting(): Promise<void> {
    if (!this.#asked && !this.#ended) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }
}

/** @throws CommandFailure when the folder was taken away. */
async function look(root: string): Promise<PlayedFolders> {
  for (;;) {
    try {
      return await findPlayed(root);
    } catch (thrown) {
      // A folder in it was removed while it was looked at.
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
      await requireFolder(root);
    }
  }
}

async function requireFolder(path: string): Promise<void> {
  const found = await stat(path).catch((cause: unknown) => {
    throw ioFailure(`There is no folder ${path}`, cause);
  });
  if (!found.isDirectory()) throw usageFailure(`${path} is not a folder: unpack it first`);
}

function toPort(value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65535) return Number(value);
  throw new InvalidArgumentError('It must be a port from 0 to 65535.');
}

/** Saving writes several times; what comes this close together is one change. */
const SETTLE_MS = 40;
const POLL_MS = 500;

/** Tells when something below a folder may have changed. Where the system cannot tell, looks twice a second. */
class FolderWatcher implements Disposable {
  readonly #root: string;
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #settling: NodeJS.Timeout | undefined;
  #polling: NodeJS.Timeout | undefined;

  constructor(root: string, onChange: () => void, { poll }: { readonly poll: boolean }) {
    this.#root = root;
    this.#onChange = onChange;
    if (poll) this.#poll();
  }

  /** Watches exactly these folders, relative to the root; a folder that is new may hold files already. */
  watch(folders: readonly string[]): void {
    if (this.#polling !== undefined) return;
    const wanted = new Set(folders);
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(join(this.#root, folder), () => this.#changed());
        // A folder that is removed reports an error; its parent tells of it.
        watcher.on('error', () => this.#changed());
        this.#watchers.set(folder, watcher);
        this.#changed();
      } catch (thrown) {
        const { code } = thrown as NodeJS.ErrnoException;
        if (code !== 'ENOENT' && code !== 'ENOTDIR') this.#poll();
      }
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#settling);
    clearInterval(this.#polling);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #changed(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(this.#onChange, SETTLE_MS);
  }

  /** Also where the system's watchers are used up. */
  #poll(): void {
    this.#polling ??= setInterval(this.#onChange, POLL_MS);
  }
}

/** What `play` says of each change. */
interface Session {
  readonly activator: LocalActivator;
  readonly terminal: Terminal;
  readonly runtimes: readonly string[];
  readonly runsTests: boolean;
}

type Endpoints = ReturnType<LocalActivator['endpointsOf']>;

interface Outcome {
  readonly change: Change;
  /** Milliseconds from the save until it was active. */
  readonly active: number;
  readonly problems: readonly Finding[];
  readonly results: readonly ExampleResult[];
  readonly endpoints: Endpoints;
}

/**
 * Reports what is decided.
 * @param somethingNew resolves when it is not worth waiting for slow activations any longer.
 * @returns what is not decided yet.
 */
async function reportChanges(
  session: Session,
  { changed, gone }: Changes,
  somethingNew: Promise<void>,
): Promise<Change[]> {
  const { activator, terminal } = session;
  for (const key of gone) {
    terminal.print(`${now(terminal)} ${key}: no longer there`);
    terminal.json({ event: 'gone', ko: key });
  }
  const looked = changed.map(async (change) => {
    const endpoints = endpointsOf(change, session);
    const decided = activator.decided(endpoints, (text) => terminal.progress(text));
    // An installation of packages may take minutes: what is saved meanwhile goes first.
    await Promise.race([decided, somethingNew]);
    return { change, endpoints, active: Math.round(Date.now() - change.saved) };
  });
  const undecided: Change[] = [];
  for (const { change, endpoints, active } of await Promise.all(looked)) {
    if (endpoints.some(({ status }) => status === 'LOADED')) {
      undecided.push(change);
      continue;
    }
    const trial = trialOf(change, session);
    const ofEndpoints =
      trial === undefined
        ? []
        : [
            ...trial.ko.services.flatMap(({ deployment }) => foreignEngines(deployment, [])),
            ...(await activationProblems(trial)),
          ];
    const problems = sorted([...change.findings.filter(({ severity }) => severity === 'problem'), ...ofEndpoints]);
    const runs = trial !== undefined && session.runsTests;
    const results = runs ? await tryExamples(trial, (name) => terminal.progress(`${name} …`)) : [];
    const outcome = { change, active, problems, results, endpoints };
    print(outcome, session);
    terminal.json(asEvent(outcome));
  }
  return undecided;
}

/** Nothing to try where what was saved is not what is served. */
function trialOf({ inspection, isServed }: Change, { activator, runtimes }: Session): Trial | undefined {
  const { source, ko, examples } = inspection;
  return ko === undefined || !isServed ? undefined : { source, ko, examples, activator, runtimes };
}

const keptAsBefore = ({ isNew, isServed }: Change): boolean => !isNew && !isServed;

const endpointsOf = ({ inspection: { ko }, isServed }: Change, { activator }: Session): Endpoints =>
  ko === undefined || !isServed ? [] : activator.endpointsOf(ko.key);

function print({ change, active, problems, results, endpoints }: Outcome, { activator, terminal }: Session): void {
  const { source } = change.inspection;
  const running = endpoints.filter(({ status }) => status === 'ACTIVATED');
  const failed = results.filter(({ passed }) => !passed);
  const facts = [
    ...(!change.isNew && change.isServed && running.length > 0 ? [`active ${active} ms after it was saved`] : []),
    ...(problems.length > 0 ? [terminal.bad(count(problems.length, 'problem'))] : []),
    ...(keptAsBefore(change) ? ['what was active before stays active'] : []),
    ...(results.length > failed.length
      ? [terminal.good(`${count(results.length - failed.length, 'worked example')} passed`)]
      : []),
    ...(failed.length > 0 ? [terminal.bad(`${count(failed.length, 'worked example')} failed`)] : []),
  ];
  printFindings(source, problems, terminal);
  const line = [terminal.bold(nameOf(change)), ...(facts.length > 0 ? [facts.join(', ')] : [])].join(': ');
  terminal.print(change.isNew ? line : `${now(terminal)} ${line}`);
  if (change.isNew) {
    for (const { entry, id } of running) terminal.print(`  ${entry.method.toUpperCase()} ${activator.url}/${id}`);
  }
  for (const result of failed) printExample(source, result, terminal);
}

const asEvent = ({ change, active, problems, results, endpoints }: Outcome): unknown => ({
  event: change.isNew ? 'loaded' : 'changed',
  source: change.inspection.source.label,
  ko: nameOf(change),
  ...(change.isNew ? {} : { milliseconds: active }),
  keptAsBefore: keptAsBefore(change),
  endpoints: endpoints.map(({ id, status, detail }) => ({ id, status, ...(detail === undefined ? {} : { detail }) })),
  problems,
  examples: results,
});

const now = (terminal: Terminal): string => terminal.dim(new Date().toTimeString().slice(0, 8));
