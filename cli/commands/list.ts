import { Command } from 'commander';
import { koKey, parseKoId } from '../../src/knowledge-object/id.ts';
import { escapeForMessage } from '../../src/lib/text.ts';
import type { ListedEndpoint, ListedKo } from '../lib/client.ts';
import type { Context } from '../lib/context.ts';
import { connect, type RemoteOptions, withRemoteOptions } from '../lib/remote.ts';
import { summaryOf } from '../lib/report-endpoints.ts';
import { columns, count } from '../lib/terminal.ts';

interface Row extends ListedKo {
  /** False of one that was deleted and is active until a refresh. */
  readonly onShelf: boolean;
  readonly endpoints: readonly ListedEndpoint[];
}

export function listCommand(context: Context): Command {
  const command = new Command('list')
    .description('List the knowledge objects of an activator')
    .argument('[text]', 'only those whose id, title or engine holds this text, in any case');
  return withRemoteOptions(command, 'address of the activator')
    .addHelpText(
      'after',
      `
Examples:
  kgrid list --url http://127.0.0.1:8080
  kgrid list cardiology
  kgrid list python --json

Exit code: 0 listed, also where there are none; 3 the activator is out of reach.`,
    )
    .action(async (text: string | undefined, options: RemoteOptions) => {
      await list(context, text, options);
    });
}

async function list(context: Context, text: string | undefined, options: RemoteOptions): Promise<void> {
  const { terminal, client } = connect(context, options);
  const [stored, endpoints] = await Promise.all([client.knowledgeObjects(), client.endpoints()]);
  const all = rowsOf(stored, endpoints);
  const rows = text === undefined ? all : all.filter((row) => holds(row, text.toLowerCase()));
  const lines = columns([
    ['ID', 'TITLE', 'ENGINES', 'ENDPOINTS'],
    ...rows.map((row) => [
      row.key,
      escapeForMessage(row.title ?? ''),
      escapeForMessage(enginesOf(row).join(', ')),
      stateOf(row),
    ]),
  ]);
  if (rows.length > 0) for (const [i, line] of lines.entries()) terminal.print(i === 0 ? terminal.bold(line) : line);
  else terminal.print(text === undefined ? 'There are no knowledge objects' : `None of ${all.length} holds "${text}"`);
  terminal.note(terminal.dim(`${count(rows.length, 'knowledge object')} at ${client.url}`));
  terminal.json({ ok: true, url: client.url, kos: rows.map(asJson) });
}

function rowsOf(stored: readonly ListedKo[], endpoints: readonly ListedEndpoint[]): Row[] {
  const of = Map.groupBy(endpoints, ({ ko }) => ko);
  const onShelf = new Set(stored.map(({ key }) => key));
  const deleted = [...of.keys()].flatMap((each) => {
    const id = parseKoId(each);
    return id === undefined || onShelf.has(koKey(id)) ? [] : [koKey(id)];
  });
  return [
    ...stored.map((ko) => ({ ...ko, onShelf: true, endpoints: of.get(ko.key) ?? [] })),
    ...deleted.map((key) => ({ key, title: undefined, onShelf: false, endpoints: of.get(key) ?? [] })),
  ];
}

const enginesOf = ({ endpoints }: Row): string[] => [...new Set(endpoints.map(({ engine }) => engine))];

const holds = (row: Row, text: string): boolean =>
  [row.key, row.title ?? '', ...enginesOf(row)].some((each) => each.toLowerCase().includes(text));

const stateOf = ({ endpoints, onShelf }: Row): string =>
  `${summaryOf(endpoints)}${onShelf ? '' : ', deleted: until a refresh'}`;

const asJson = (row: Row): unknown => ({
  ko: row.key,
  title: row.title ?? null,
  onShelf: row.onShelf,
  engines: enginesOf(row),
  endpoints: row.endpoints.map(({ id, engine, status, detail }) => ({ id, engine, status, detail })),
});
