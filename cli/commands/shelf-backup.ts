import { realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { messageOf } from '../../src/lib/errors.ts';
import { folderOfShelf } from '../../src/shelf/stores.ts';
import { backupShelf } from '../../src/shelf/store/backup-shelf.ts';
import { restoreShelf } from '../../src/shelf/store/restore-shelf.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, ioFailure, orShelfFailure } from '../lib/exit.ts';
import { count, type Terminal } from '../lib/terminal.ts';

interface Options {
  readonly json?: boolean;
}

export const shelfBackupCommand = (context: Context): Command =>
  new Command('backup')
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .description('Write a backup of a shelf folder into one file, also while its activator runs')
    .argument('<folder>', 'the folder that is given to the activator as --shelf')
    .argument('<file>', 'the archive, a .tar.gz; it is replaced where it is there')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
In it are the knowledge objects that were imported, the packages that are retained, and the audit, all as they were at one
moment. Folders that people put on the shelf are not in it. What is damaged on the shelf is named and left out.
Exit code: 0 all is in it, 1 something was damaged and is not.`,
    )
    .action(async (folder: string, file: string, options: Options) => {
      context.exitCode = await backup(context, folder, file, options);
    });

export const shelfRestoreCommand = (context: Context): Command =>
  new Command('restore')
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .description('Make a shelf folder from a backup')
    .argument('<file>', 'what kgrid shelf backup wrote')
    .argument('<folder>', 'where the shelf is to be: a folder without one, which is made where it is missing')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Each file is compared with its digest. Of a damaged archive nothing is taken.
Exit code: 0 the shelf is there, 1 too, but something was damaged when the backup was made, 3 there is none.`,
    )
    .action(async (file: string, folder: string, options: Options) => {
      context.exitCode = await restore(context, file, folder, options);
    });

async function backup(context: Context, folder: string, file: string, options: Options): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const shelf = await shelfAt(folder, '.kgrid');
  const report = await orShelfFailure(() => backupShelf(shelf, resolve(file)));
  const { whole, damaged, folders } = report;
  tellDamage(terminal, damaged);
  const wanting = damaged.length === 0 ? '' : `, ${count(damaged.length, 'file')} damaged and left out`;
  terminal.print(`${count(whole, 'package')} in ${file}${wanting}`);
  if (folders > 0) terminal.note(`${count(folders, 'folder')} that people put on the shelf: copy them beside it`);
  terminal.json({ ok: damaged.length === 0, file, ...report });
  return damaged.length === 0 ? EXIT.ok : EXIT.problems;
}

async function restore(context: Context, file: string, folder: string, options: Options): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const shelf = await orShelfFailure(() => folderOfShelf(folder));
  const report = await restoreShelf(resolve(file), shelf).catch((thrown: unknown) => {
    throw ioFailure(`${file} cannot be restored to ${folder}: ${messageOf(thrown)}`, thrown);
  });
  const { kos, retained, damaged } = report;
  tellDamage(terminal, damaged);
  terminal.print(`${count(kos, 'knowledge object')} and ${count(retained, 'retained package')} restored to ${folder}`);
  terminal.json({ ok: damaged.length === 0, folder, ...report });
  return damaged.length === 0 ? EXIT.ok : EXIT.problems;
}

function tellDamage(terminal: Terminal, damaged: readonly { readonly where: string; readonly cause: string }[]): void {
  for (const { where, cause } of damaged) terminal.print(`${terminal.bad('damaged')}  ${where}: ${cause}`);
}

/** The path of the folder of a shelf. @param part of it that must be there. @throws CommandFailure. */
export async function shelfAt(location: string, part = '.'): Promise<string> {
  const folder = await orShelfFailure(() => folderOfShelf(location));
  const found = await stat(join(folder, part)).catch(() => undefined);
  if (found?.isDirectory() === true) return realpath(folder);
  if (part === '.') throw ioFailure(`There is no folder ${folder}`);
  throw ioFailure(`${folder} is no shelf with imported knowledge objects: it has no ${part}`);
}
