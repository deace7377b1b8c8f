import { Command } from 'commander';
import { bytes } from '../../src/shelf/archive/archive.ts';
import { fixShelf } from '../../src/shelf/store/check-shelf.ts';
import { storeAt } from '../../src/shelf/stores.ts';
import { deleteRemoved, listRemoved, type RemovedEntry } from '../../src/shelf/unpacked/removed-folder.ts';
import { accessOf } from '../lib/audit-place.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, orShelfFailure, usageFailure } from '../lib/exit.ts';
import { count } from '../lib/terminal.ts';
import { shelfAt, shelfBackupCommand, shelfRestoreCommand } from './shelf-backup.ts';
import { shelfCopyCommand } from './shelf-copy.ts';

interface CheckOptions {
  readonly fix?: boolean;
  readonly fleet: string;
  readonly shelfPasswordFile?: string;
  readonly json?: boolean;
}

interface CleanOptions {
  readonly olderThan?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function shelfCommand(context: Context): Command {
  const check = new Command('check')
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .description('Read every file of a shelf, and say what is damaged')
    .argument('<shelf>', 'the folder or database that is given to the activator as --shelf')
    .option('--fix', 'of a folder: make the database again from the packages, where it is missing or damaged')
    .option('--fleet <name>', 'of a database: the fleet', 'kgrid')
    .option('--shelf-password-file <path>', 'of a database: the file with its password')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Without --fix nothing is changed, and an activator may go on meanwhile; stop it for --fix. Of several packages of one
knowledge object the one that was stored last is put on the shelf, and the others are retained. A damaged database is put
aside. Import again what is damaged. Exit code: 0 all is whole, 1 something is damaged.`,
    )
    .action(async (shelf: string, options: CheckOptions) => {
      context.exitCode = await checkStored(context, shelf, options);
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
  const repair = new Command('repair')
    .exitOverride()
    .allowExcessArguments()
    .allowUnknownOption()
    .action(() => {
      throw usageFailure('There is no kgrid shelf repair any more: kgrid shelf check --fix <folder> does what it did');
    });
  return new Command('shelf')
    .description('Copy a shelf, back it up, or check or tidy up its folder')
    .addCommand(shelfCopyCommand(context))
    .addCommand(shelfBackupCommand(context))
    .addCommand(shelfRestoreCommand(context))
    .addCommand(check)
    .addCommand(clean)
    .addCommand(repair, { hidden: true });
}

async function checkStored(context: Context, location: string, options: CheckOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const store = await orShelfFailure(() => storeAt(location));
  const isFolder = store.folderAt(location) !== undefined;
  if (options.fix === true && !isFolder)
    throw usageFailure('--fix makes the database of a folder again: a PostgreSQL database comes back from its backup');
  const shelf = isFolder ? await shelfAt(location, '.kgrid/objects') : location;
  const { fleet, shelfPasswordFile: passwordFile } = options;
  const access = accessOf({ fleet, passwordFile, env: context.env });
  const note = (message: string): void => terminal.note(message);
  const fixed = options.fix === true ? await orShelfFailure(() => fixShelf(shelf, note)) : undefined;
  const { whole, damaged, database } = fixed ?? (await orShelfFailure(() => store.check(shelf, access)));
  for (const key of fixed?.rebuilt ?? []) terminal.print(`${terminal.good('rebuilt')}  ${key}`);
  if (fixed?.aside !== undefined)
    terminal.print(`${terminal.warning('aside')}    the damaged database is ${fixed.aside}`);
  for (const { where, cause } of damaged) terminal.print(`${terminal.bad('damaged')}  ${where}: ${cause}`);
  if (database !== undefined)
    terminal.print(`${terminal.bad('damaged')}  ${database}: stop the activator, and add --fix to make it again`);
  terminal.print(`${count(whole, 'package')} whole, ${damaged.length} damaged`);
  const ok = damaged.length === 0 && database === undefined;
  terminal.json({ ok, whole, damaged, database, ...fixed });
  return ok ? EXIT.ok : EXIT.problems;
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

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function ageOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount === undefined) throw usageFailure(`--older-than is '${text}', but must be a time such as 30d, 12h or 10m`);
  return Number(amount) * (UNITS[unit] ?? 0);
}
