import { Command } from 'commander';
import type { Database } from '../../src/shelf/store/database.ts';
import { finishSchema, migrate, schemaStatus, type SchemaStatus } from '../../src/shelf/store/schema.ts';
import { storeAt } from '../../src/shelf/stores.ts';
import { accessOf } from '../lib/audit-place.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, orShelfFailure, usageFailure } from '../lib/exit.ts';
import type { Terminal } from '../lib/terminal.ts';
import { buildOfProject } from '../lib/version.ts';

interface Options {
  readonly fleet: string;
  readonly shelfPasswordFile?: string;
  readonly json?: boolean;
}

type Verb = 'status' | 'prepare' | 'finish';

const ABOUT: Readonly<Record<Verb, string>> = {
  status: 'Say which steps the tables of a shelf are at',
  prepare: 'Make the tables of a shelf, or add what this version needs; programs of the version before go on',
  finish: 'Take away what only programs before this version need, which no longer start then',
};

export function schemaCommand(context: Context): Command {
  const command = new Command('schema').description('Look after the tables of a shelf when its version changes');
  for (const verb of ['status', 'prepare', 'finish'] as const) command.addCommand(commandFor(context, verb));
  return command;
}

const commandFor = (context: Context, verb: Verb): Command =>
  new Command(verb)
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .description(ABOUT[verb])
    .argument('[shelf]', 'the folder or database that is given to the activator as --shelf (or KGRID_SHELF)')
    .option('--fleet <name>', 'of a database: the name of the fleet', 'kgrid')
    .option('--shelf-password-file <file>', 'of a database: the file with its password')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
A start prepares the steps of its version by itself, and finishes them too where no other activator runs on the database.
Exit code: 0 all steps are finished (prepare: prepared), 1 they are not, 3 the shelf cannot be reached or used.`,
    )
    .action(async (shelf: string | undefined, options: Options) => {
      context.exitCode = await run(context, verb, shelf ?? context.env['KGRID_SHELF'] ?? '', options);
    });

async function run(context: Context, verb: Verb, shelf: string, options: Options): Promise<ExitCode> {
  const terminal = context.terminal(options);
  if (shelf === '') throw usageFailure('Which shelf? Name a folder or a database, or set KGRID_SHELF');
  return orShelfFailure(async () => {
    const store = storeAt(shelf);
    const where = store.labelAt(shelf);
    const { fleet, shelfPasswordFile: passwordFile } = options;
    await using database = await store.openDatabase(
      ...([shelf, accessOf({ fleet, passwordFile, env: context.env }), 'tables'] as const),
    );
    if (verb === 'prepare') await migrate(database, where);
    const refusal = verb === 'finish' ? await finish(database, where) : undefined;
    const status = await schemaStatus(database, where);
    report(status, terminal);
    if (refusal !== undefined) terminal.print(terminal.bad(refusal));
    const isFinished = status.steps.length >= status.known && status.steps.every(({ finished }) => finished !== null);
    const ok = refusal === undefined && (verb === 'prepare' || isFinished);
    terminal.json({ ok, ...status, ...(refusal === undefined ? {} : { refusal }) });
    return ok ? EXIT.ok : EXIT.problems;
  });
}

/** @returns why not, where activators of another version run on it. */
async function finish(database: Database, where: string): Promise<string | undefined> {
  const { version } = buildOfProject();
  const { nodes } = await schemaStatus(database, where);
  const others = nodes.filter((node) => node.version.split('+', 1)[0] !== version);
  if (others.length > 0)
    return `Not finished: these are of another version than this program (${version}): ${namesOf(others)}. Update or stop them first`;
  await finishSchema(database, where);
  return undefined;
}

function report({ steps, known, nodes, isOfVersion01 }: SchemaStatus, terminal: Terminal): void {
  for (const { step, prepared, finished } of steps) {
    const state = finished === null ? `prepared ${timeOf(prepared)}` : `finished ${timeOf(finished)}`;
    terminal.print(`step ${String(step)}  ${state}${step > known ? ', by a newer version than this program' : ''}`);
  }
  if (isOfVersion01) terminal.print('Of version 0.1: the next start takes it over');
  else if (steps.length === 0) terminal.print('There are no tables yet: the first start makes them');
  else if (steps.length < known)
    terminal.print(`${String(known - steps.length)} of ${String(known)} steps to be prepared`);
  if (nodes.length > 0) terminal.print(`Activators that run on it: ${namesOf(nodes)}`);
}

const namesOf = (nodes: SchemaStatus['nodes']): string =>
  nodes.map(({ name, version }) => `${name} (${version})`).join(', ');

const timeOf = (at: number): string => new Date(at).toISOString();
