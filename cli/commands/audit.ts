import { Command } from 'commander';
import { type Fields, fieldsOf } from '../../src/lib/json.ts';
import type { AuditQuery, AuditStore } from '../../src/shelf/audit/audit-store.ts';
import {
  type AuditProblem,
  type AuditVerdict,
  type NotedHash,
  verifyAudit,
} from '../../src/shelf/audit/verify-audit.ts';
import { type AuditPlace, auditToRead, databaseOf } from '../lib/audit-place.ts';
import { type ActivatorClient, refusal } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { EXIT, type ExitCode, usageFailure } from '../lib/exit.ts';
import { remoteActivator, type RemoteOptions, withRemoteOptions } from '../lib/remote.ts';
import { columns, count, type Terminal } from '../lib/terminal.ts';

interface PlaceOptions {
  readonly state?: string;
  readonly fleet: string;
  readonly shelfPasswordFile?: string;
}

interface VerifyOptions extends PlaceOptions {
  readonly noted?: readonly string[];
  readonly json?: boolean;
}

interface ShowOptions extends PlaceOptions, RemoteOptions {
  readonly since?: string;
  readonly ko?: string;
  readonly who?: string;
  readonly limit: string;
}

const SHELF = 'the folder or database that is given to the activator as --shelf (or KGRID_SHELF)';

export function auditCommand(context: Context): Command {
  const verify = withPlace(new Command('verify'))
    .description('Hold the audit of a shelf to its chain of hashes')
    .option('--json', 'print the result as JSON')
    .option('--noted <writer/number/hash...>', 'what an earlier run printed must still be so')
    .addHelpText(
      'after',
      `
Examples:
  kgrid audit verify /var/lib/kgrid
  kgrid audit verify postgres://kgrid@db/kgrid --fleet kgrid

Finds records that were changed, removed, put in or moved since they were written; an activator may go on meanwhile.
What went because there was too much, and what is older than the chain, is told apart. Note the hashes that are printed,
and give them to --noted the next time: who may write all of the store could have made the chain anew.
Exit code: 0 all is as it was written, 1 something is not, 3 there is no audit or it cannot be read.`,
    )
    .action(async (shelf: string | undefined, options: VerifyOptions) => {
      context.exitCode = await verifyStore(context, shelf, options);
    });
  const show = withPlace(new Command('show'))
    .description('Show what was changed, by whom and how it went, the newest first')
    .option('--since <time>', 'only since a date or time, or how long ago: 2026-11-20, 2026-11-20T15:06:08Z, 12h')
    .option('--ko <id>', 'only of this knowledge object, <naan>/<name> or <naan>/<name>/<version>')
    .option('--who <name>', 'only what this person or program did')
    .option('--limit <number>', 'how many records at most', '100');
  withRemoteOptions(show, 'address of the activator, in place of a shelf')
    .addHelpText(
      'after',
      `
Examples:
  kgrid audit show --url http://127.0.0.1:8080 --since 24h
  kgrid audit show /var/lib/kgrid --ko hello/welcome --who ann

Exit code: 0 shown, also where there is nothing; 3 the activator or the audit is out of reach.`,
    )
    .action(async (shelf: string | undefined, options: ShowOptions) => {
      await showRecords(context, shelf, options);
    });
  return new Command('audit')
    .description('Show what was changed and by whom, and verify that nobody changed that')
    .addCommand(verify)
    .addCommand(show);
}

const withPlace = (command: Command): Command =>
  command
    .exitOverride()
    .showHelpAfterError('(add --help to see how it is called)')
    .argument('[shelf]', SHELF)
    .option('--state <folder>', 'the state folder of the activator, where it is not in that of the shelf')
    .option('--fleet <name>', 'of a database: the name of the fleet', 'kgrid')
    .option('--shelf-password-file <file>', 'of a database: the file with its password');

async function verifyStore(context: Context, named: string | undefined, options: VerifyOptions): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const noted = (options.noted ?? []).map(toNoted);
  const place = placeOf(context, named ?? present(context.env['KGRID_SHELF']), options);
  await using database = await databaseOf(place);
  const verdict = await verifyAudit(database, noted);
  report(verdict, terminal);
  const ok = verdict.problems.length === 0;
  terminal.json({ ok, ...verdict });
  return ok ? EXIT.ok : EXIT.problems;
}

function report({ problems, more, writers, older }: AuditVerdict, terminal: Terminal): void {
  for (const problem of problems) terminal.print(`${terminal.bad(problem.kind.padEnd(9))}  ${wordsOf(problem)}`);
  if (more > 0) terminal.print(`… and ${String(more)} more`);
  for (const { writer, records, trimmed, number, hash } of writers) {
    const gone = trimmed === 0 ? '' : `, the oldest ${String(trimmed)} went because there were too many`;
    terminal.print(`${count(records, 'record')} of ${writer}${gone}`);
    if (number > 0) terminal.print(terminal.dim(`  ${writer}/${String(number)}/${hash}`));
  }
  if (older > 0) terminal.print(`${count(older, 'record')} from before there was a chain: accepted as they are`);
  const found = problems.length + more;
  terminal.print(found === 0 ? terminal.good('Nothing was changed') : terminal.bad(count(found, 'problem')));
}

function wordsOf({ writer, number, id, why }: AuditProblem): string {
  const which = [
    ...(id === undefined ? [] : [`record ${String(id)}`]),
    ...(number === undefined ? [] : [`number ${String(number)}`]),
    ...(writer === undefined ? [] : [`of ${writer}`]),
  ];
  return `${which.join(', ')}: ${why}`;
}

async function showRecords(context: Context, named: string | undefined, options: ShowOptions): Promise<void> {
  const terminal = context.terminal(options);
  const limit = /^\d{1,6}$/.test(options.limit) ? Number(options.limit) : 0;
  if (limit === 0) throw usageFailure(`--limit is '${options.limit}', but must be a number from 1 to 999999`);
  const since = options.since === undefined ? undefined : timeOf(options.since);
  const query = { limit, since, ko: options.ko?.replace(/^\/?(kos\/)?|\/$/g, ''), who: options.who };
  const isRemote = named === undefined && (options.url ?? present(context.env['KGRID_URL'])) !== undefined;
  const { records, more } = isRemote
    ? await recordsAt(remoteActivator(options, context.env, terminal), query)
    : await readStore(placeOf(context, named ?? present(context.env['KGRID_SHELF']), options), query);
  if (records.length === 0) terminal.print('There are no such records');
  else for (const [i, line] of tableOf(records).entries()) terminal.print(i === 0 ? terminal.bold(line) : line);
  if (more) terminal.note(terminal.dim('There are older ones: --limit shows more'));
  terminal.json({ ok: true, records, more });
}

async function readStore(place: AuditPlace, query: Parameters<typeof recordsIn>[1]): ReturnType<typeof recordsIn> {
  await using store = await auditToRead(place);
  return await recordsIn(store, query);
}

function placeOf(context: Context, shelf: string | undefined, options: PlaceOptions): AuditPlace {
  const { state, fleet, shelfPasswordFile: passwordFile } = options;
  if (shelf === undefined) throw usageFailure('Name the shelf whose audit is meant, or set KGRID_SHELF');
  return { shelf, state, fleet, passwordFile, env: context.env };
}

function toNoted(text: string): NotedHash {
  const [, writer, number, hash] = /^([\w-]{1,64})\/(\d{1,15})\/([0-9a-f]{64})$/.exec(text) ?? [];
  if (writer === undefined || number === undefined || hash === undefined)
    throw usageFailure(`--noted is '${text}', but must be what an earlier run printed, <writer>/<number>/<hash>`);
  return { writer, number: Number(number), hash };
}

const present = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

// Records of an audit, of an activator or of a store, the newest first.

/** Records of one answer. */
const PAGE = 1000;

interface FoundRecords {
  readonly records: readonly Fields[];
  readonly more: boolean;
}

async function recordsIn(store: AuditStore, query: AuditQuery): Promise<FoundRecords> {
  const { records, more } = await store.read(query);
  return { records: records.map((each) => ({ ...each })), more };
}

/** @throws CommandFailure. */
async function recordsAt(client: ActivatorClient, query: AuditQuery): Promise<FoundRecords> {
  const { limit, since, ko, who } = query;
  const records: Fields[] = [];
  for (let after: number | undefined; ;) {
    const asked = new URLSearchParams({ limit: String(Math.min(PAGE, limit - records.length)) });
    if (since !== undefined) asked.set('since', new Date(since).toISOString());
    for (const [name, value] of Object.entries({ ko, who, after }))
      if (value !== undefined) asked.set(name, String(value));
    const answer = await client.send(`/actuator/audit?${asked.toString()}`);
    if (answer.status !== 200) throw refusal(answer, client, 'does not show its audit');
    if (!Array.isArray(answer.body)) throw client.strange('GET /actuator/audit', answer);
    records.push(...answer.body.map(fieldsOf));
    const more = answer.headers.get('link')?.includes('rel="next"') === true;
    const last = records.at(-1)?.['id'];
    // A page that leads to itself would never end.
    if (!more || records.length >= limit || typeof last !== 'number' || (after !== undefined && last >= after))
      return { records, more };
    after = last;
  }
}

function tableOf(records: readonly Fields[]): string[] {
  const word = (value: unknown): string => (typeof value === 'string' ? value : '');
  return columns([
    ['TIME', 'WHO', 'ACTION', 'OUTCOME', 'SUBJECT', 'DIGEST', 'FROM'],
    ...records.map((each) => [
      ...['time', 'who', 'action'].map((name) => word(each[name])),
      word(each['outcome']) + timesOf(each['times']),
      word(each['subject']),
      word(each['digest']).slice(0, 12),
      word(each['remoteAddress']),
    ]),
  ]);
}

/** Gives how often a record that stands for several happened. */
const timesOf = (times: unknown): string => (typeof times === 'number' && times > 1 ? ` ${times} times` : '');

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Epoch milliseconds of a time, or of so long ago. @throws CommandFailure. */
function timeOf(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const time =
    amount !== undefined
      ? Date.now() - Number(amount) * (UNITS[unit] ?? 0)
      : ISO_TIME.test(text)
        ? Date.parse(text)
        : Number.NaN;
  if (Number.isNaN(time))
    throw usageFailure(
      `--since is '${text}', but must be a date or time such as 2026-11-20 or 2026-11-20T15:06:08Z, or how long ago, such as 30d, 12h or 10m`,
    );
  return time;
}
