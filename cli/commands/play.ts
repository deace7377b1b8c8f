import { stat } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { runtimesFor } from '../../src/check/activate-sources.ts';
import type { Context } from '../lib/context.ts';
import { ioFailure, usageFailure } from '../lib/exit.ts';
import { FolderWatcher } from '../lib/folder-watcher.ts';
import { inspect } from '../../src/check/inspect.ts';
import { LocalActivator } from '../../src/check/local-activator.ts';
import { findPlayed } from '../lib/played-folders.ts';
import type { PlayedFolders } from '../lib/played-folders.ts';
import { activateChanges, Playground } from '../lib/playground.ts';
import type { Changes } from '../lib/playground.ts';
import { reportChanges } from '../lib/report-changes.ts';
import { count } from '../lib/terminal.ts';

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
