import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { deleteRemoved, listRemoved, type RemovedEntry } from '../../src/shelf/file-store/clean-removed.ts';
import { repairShelf } from '../../src/shelf/file-store/repair-shelf.ts';
import { folderOfShelf } from '../../src/shelf/open-shelf.ts';
import { bytes } from '../../src/shelf/archive/archive.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, ioFailure, usageFailure } from '../lib/exit.ts';
import type { ExitCode } from '../lib/exit.ts';
import { orShelfFailure } from '../lib/shelf-failure.ts';
import { count } from '../lib/terminal.ts';
import { shelfCopyCommand } from './shelf-copy.ts';

interface RepairOptions {
  readonly json?: boolean;
}

interface CleanOptions {
  readonly olderThan?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function shelfCommand(context: Context): Command {
  const repair = new Command('repair')
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .description('Rebuild the index of a shelf folder from the packages in it')
    .argument('<folder>', 'the folder that is given to the activator as --shelf')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Entries of the index that are whole stay. Every other package is verified by its digests; of several of one knowledge
object the one that was stored last becomes the entry. The others go to .removed in the folder; nothing is deleted.
Stop the activator first. Exit code: 0 all is whole, 1 something is damaged and stays so.`,
    )
    .action(async (folder: string, options: RepairOptions) => {
      context.exitCode = await repairFolder(context, folder, options);
    });
  const clean = new Command('clean')
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .description('Delete for good what lies in .removed of a shelf folder')
    .argument('<folder>', 'the folder that is given to the activator as --shelf')
    .option('--older-than <time>', 'only what was removed so long ago or longer, such as 30d, 12h or 10m')
    .option('--yes', 'delete; without it the command only says what would go')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
While an activator has the shelf, what it removed itself stays: endpoints may still read from it.
Exit code: 0 done, 2 nothing was deleted because --yes is missing.`,
    )
    .action(async (folder: string, options: CleanOptions) => {
      context.exitCode = await cleanFolder(context, folder, options);
    });
  return new Command('shelf')
    .description('Copy a shelf, or repair or tidy up its folder')
    .addCommand(shelfCopyCommand(context))
    .addCommand(repair)
    .addCommand(clean);
}

async function repairFolder(context: Context, folder: string, options: RepairOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const shelf = await shelfAt(folder, '.kgrid/objects');
  const report = await orShelfFailure(() => repairShelf(shelf, (message) => terminal.note(message)));
  const { kept, rebuilt, movedAway, damaged } = report;
  for (const key of rebuilt) terminal.print(`${terminal.good('rebuilt')}  ${key}`);
  for (const { folder: name, why, to } of movedAway)
    terminal.print(`${terminal.warning('moved')}    .kgrid/objects/${name} to ${to}: ${why}`);
  for (const { where, cause } of damaged) terminal.print(`${terminal.bad('damaged')}  ${where}: ${cause}`);
  const entries = count(rebuilt.length, 'entry').replace('entrys', 'entries');
  terminal.print(
    `${entries} rebuilt, ${kept.length} kept, ${count(movedAway.length, 'package')} moved to .removed, ${damaged.length} damaged`,
  );
  terminal.json({ ok: damaged.length === 0, ...report });
  return damaged.length === 0 ? EXIT.ok : EXIT.problems;
}

async function cleanFolder(context: Context, folder: string, options: CleanOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const before = Date.now() - ageOf(options.olderThan);
  const shelf = await shelfAt(folder);
  const entries = await orShelfFailure(() => listRemoved(shelf));
  const old = entries.filter(({ removed }) => removed.getTime() <= before);
  const chosen = old.filter(({ inUse }) => !inUse);
  const gone = options.yes === true ? await orShelfFailure(() => deleteRemoved(shelf, namesOf(chosen))) : [];
  const word = options.yes === true ? 'deleted' : 'would go';
  for (const each of old) {
    const isMeant = options.yes === true ? gone.includes(each.name) : !each.inUse;
    const what = `.removed/${each.name}, ${bytes(each.bytes)}`;
    terminal.print(isMeant ? `${word}  ${what}` : `stays  ${what}: the activator that runs may still read from it`);
  }
  const size = chosen.reduce((sum, each) => sum + each.bytes, 0);
  const total = `${chosen.length} of ${entries.length} in .removed, ${bytes(size)}`;
  terminal.print(options.yes === true ? `Deleted ${total}` : `Nothing was deleted: add --yes to delete ${total}`);
  const rest = entries.filter(({ name }) => !gone.includes(name));
  terminal.json({ deleted: gone, stays: namesOf(rest), bytes: size });
  return options.yes === true || chosen.length === 0 ? EXIT.ok : EXIT.usage;
}

const namesOf = (entries: readonly RemovedEntry[]): string[] => entries.map(({ name }) => name);

async function shelfAt(location: string, part = '.'): Promise<string> {
  const folder = await orShelfFailure(() => folderOfShelf(location));
  const found = await stat(join(folder, part)).catch(() => undefined);
  if (found?.isDirectory() === true) return realpath(folder);
  if (part === '.') throw ioFailure(`There is no folder ${folder}`);
  throw ioFailure(`${folder} is no shelf with imported knowledge objects: it has no ${part}`);
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function ageOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount === undefined) throw usageFailure(`--older-than is '${text}', but must be a time such as 30d, 12h or 10m`);
  return Number(amount) * (UNITS[unit] ?? 0);
}
