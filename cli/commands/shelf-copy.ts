import { Command } from 'commander';
import { readPassword } from '../../src/config/secret-file.ts';
import { type CopiedAudit, copyAudit } from '../../src/shelf/audit/audit-table.ts';
import { copyShelf } from '../../src/shelf/copy-shelf.ts';
import { openShelf, type StoreAccess, storeAt } from '../../src/shelf/stores.ts';
import type { StoredShelf } from '../../src/shelf/store/stored-shelf.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, orShelfFailure, usageFailure } from '../lib/exit.ts';
import { requireFolder } from '../lib/require-folder.ts';
import { count } from '../lib/terminal.ts';

interface CopyOptions {
  readonly fromFleet?: string;
  readonly toFleet?: string;
  readonly shelfPasswordFile?: string;
  readonly overwrite?: boolean;
  readonly json?: boolean;
}

/** Far more than is kept of anything: whoever serves the target later gives back what is beyond its own bounds. */
const KEEP_ALL = { count: 10_000, age: 36_500 * 86_400_000 };

export const shelfCopyCommand = (context: Context): Command =>
  new Command('copy')
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .description('Copy all knowledge objects of a shelf to another, a folder or a database')
    .argument('<from>', 'a folder, or postgres://user@host/database')
    .argument('<to>', 'a folder, which is made where it is missing, or a database')
    .option('--from-fleet <name>', 'name of the fleet in the database that is copied', 'kgrid')
    .option('--to-fleet <name>', 'name of the fleet in the database that is copied to', 'kgrid')
    .option('--shelf-password-file <file>', 'the file with the password of the database, or of both where both are one')
    .option('--overwrite', 'replace other packages of the same ids')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
Each package is compared by its digest; what is there already is not copied again, so the same command goes on after
it broke off. What is kept of deleted and replaced packages is copied too, as if that had happened now, and
the audit, where that of the target is empty. Stop the activator of a folder that is copied to; others may run. Passwords come from --shelf-password-file, the address,
PGPASSWORD or ~/.pgpass; of two databases with different ones, from the addresses or ~/.pgpass.
Exit code: 0 all is there, 1 something could not be copied.`,
    )
    .action(async (from: string, to: string, options: CopyOptions) => {
      context.exitCode = await copy(context, from, to, options);
    });

async function copy(context: Context, from: string, to: string, options: CopyOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  await requireFolder(from);
  const passwords = { file: await passwordOf(options, [from, to]), environment: context.env };
  const open = (location: string, fleet = 'kgrid', isReadOnly = false): Promise<StoredShelf> =>
    orShelfFailure(() =>
      openShelf(location, {
        fleet,
        isNode: false,
        isReadOnly,
        keepRemoved: KEEP_ALL,
        passwords,
        onWarning: (message) => terminal.note(message),
      }),
    );
  await using source = await open(from, options.fromFleet, true);
  await using target = await open(to, options.toFleet);
  const onCopied = (key: string): void => terminal.print(`${terminal.good('copied')}  ${key}`);
  const report = await orShelfFailure(() =>
    copyShelf(source, target, { overwrite: options.overwrite === true, onCopied }),
  );
  const audit = await orShelfFailure(() => auditTo(target, from, { fleet: options.fromFleet ?? 'kgrid', passwords }));
  const { copied, present, keptCopied, failed } = report;
  for (const { where, cause } of failed) terminal.print(`${terminal.bad('failed')}  ${where}: ${cause}`);
  if (audit !== 'none') terminal.print(SAID_OF_AUDIT[audit]);
  const kept = keptCopied === 0 ? '' : `, ${count(keptCopied, 'kept package')} with them`;
  terminal.print(
    `${count(copied.length, 'knowledge object')} copied${kept}, ${String(present.length)} there already, ${String(failed.length)} failed`,
  );
  terminal.json({ ok: failed.length === 0, ...report, audit });
  return failed.length === 0 ? EXIT.ok : EXIT.problems;
}

const SAID_OF_AUDIT: Readonly<Record<Exclude<CopiedAudit, 'none'>, string>> = {
  copied: 'The audit is copied',
  present: 'The audit is there already',
  other: 'The audit is left out: the target has one of its own',
};

/** A folder on which no activator ran has none. */
async function auditTo(target: StoredShelf, from: string, access: StoreAccess): Promise<CopiedAudit> {
  const source = await storeAt(from)
    .openDatabase(from, access, 'to read')
    .catch(() => undefined);
  if (source === undefined) return 'none';
  try {
    return await copyAudit(source, target.database);
  } finally {
    await source[Symbol.asyncDispose]();
  }
}

/** Read for each connection, since a copy may outlast a password. @throws CommandFailure where it cannot be used now. */
async function passwordOf(
  { shelfPasswordFile: path }: CopyOptions,
  locations: readonly string[],
): Promise<(() => string) | undefined> {
  if (path === undefined) return undefined;
  const folders = await orShelfFailure(() => locations.map((each) => storeAt(each).folderAt(each)));
  if (folders.every((folder) => folder !== undefined))
    throw usageFailure('--shelf-password-file is the password of a database, and neither shelf is one: leave it out');
  const read = (): string => readPassword(path, '--shelf-password-file');
  await orShelfFailure(read);
  return read;
}
