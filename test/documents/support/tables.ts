/** The tables of the documents that are written from rows of the program: `npm run docs` writes them. */
import { RETIRED_SETTINGS } from '../../../src/config/retired-settings.ts';
import type { RetiredSetting } from '../../../src/config/retired-settings.ts';
import type { Setting } from '../../../src/config/setting.ts';
import { SETTINGS } from '../../../src/config/settings.ts';
import { FAMILIES } from '../../../src/metrics/families.ts';
import type { Family } from '../../../src/metrics/families.ts';
import { accessRows } from './access-rows.ts';
import { cellsOf } from './markdown.ts';
import type { Row } from './markdown.ts';
import { read } from './project.ts';

interface Table {
  readonly firstColumn: string;
  /** Columns that tell a row; people write the columns that no row has. */
  readonly keys: readonly string[];
  readonly rows: readonly Row[];
}

const settings: readonly Setting[] = SETTINGS;
const retired: readonly RetiredSetting[] = RETIRED_SETTINGS;
const families: readonly Family[] = Object.values(FAMILIES);
const code = (text: string | undefined): string => (text === undefined || text === '' ? '' : `\`${text}\``);

/** Routes that need the same permission and answer each role alike, in one row. */
async function permissionRows(): Promise<Row[]> {
  const groups = new Map<string, { permission: string; row: Row; routes: Map<string, string[]> }>();
  for (const { method, route, access, cells } of await accessRows()) {
    const { none, ...roles } = cells;
    const row = { Permission: code(access), 'no login': none, ...roles };
    const key = Object.values(row).join();
    const group = groups.get(key) ?? { permission: access, row, routes: new Map<string, string[]>() };
    groups.set(key, group);
    group.routes.set(route, [...(group.routes.get(route) ?? []), method]);
  }
  return [...groups.values()]
    .sort((a, b) => a.permission.localeCompare(b.permission))
    .map(({ row, routes }) => ({ ...row, Routes: [...routes].map(withMethods).join(', ') }));
}

const withMethods = ([route, methods]: readonly [string, readonly string[]]): string =>
  methods.join() === 'GET' ? code(route) : `${methods.join(' ')} ${code(route)}`;

/** What people have to write still. */
export const UNWRITTEN = '?';

const TABLES: Readonly<Record<string, readonly Table[]>> = {
  'docs/settings.md': [
    {
      firstColumn: 'Option',
      keys: ['Option'],
      rows: settings.map((each) => ({
        Option: code(`--${each.option}${each.choices === undefined ? '' : ` ${each.choices.join('|')}`}`),
        Variable: code(each.env),
        Aliases: (each.aliases ?? []).map(code).join(', '),
        Default: code(each.default),
        Meaning: each.help,
      })),
    },
    {
      firstColumn: 'What',
      keys: ['Option'],
      rows: settings
        .filter(({ group }) => group === 'Limits')
        .map((each) => ({ Option: code(`--${each.option}`), Default: code(each.default) })),
    },
  ],
  'docs/security.md': [{ firstColumn: 'Permission', keys: ['Permission', 'Routes'], rows: await permissionRows() }],
  'docs/migration.md': [
    {
      firstColumn: 'Setting',
      keys: ['Setting'],
      rows: retired.map((each) => ({
        Setting: `${code(`--${each.option}`)}, ${code(each.env)}`,
        'In its place': each.instead,
      })),
    },
  ],
  'docs/observability.md': [
    {
      firstColumn: 'Series',
      keys: ['Series'],
      rows: families.map(({ name, type, labels, help }) => ({
        Series: code(name),
        Type: type,
        Labels: labels.map(code).join(', '),
        Meaning: help,
      })),
    },
  ],
};

/** Each document with its tables as they must be. */
export const generatedDocuments = (): Map<string, string> =>
  new Map(Object.entries(TABLES).map(([file, all]) => [file, all.reduce<string>(withTable, read(file))]));

function withTable(markdown: string, { firstColumn, keys, rows }: Table): string {
  const begin = markdown.indexOf(`\n| ${firstColumn} `) + 1;
  const [shown = ''] = /^(?:\|.*\n)+/.exec(markdown.slice(begin)) ?? [];
  const [titles = [], , ...known] = shown.trimEnd().split('\n').map(cellsOf);
  const keyOf = (row: Row): string => keys.map((key) => row[key]).join('\n');
  const written = new Map(
    known
      .map((cells): Row => Object.fromEntries(titles.map((title, i) => [title, cells[i] ?? ''])))
      .map((row) => [keyOf(row), row]),
  );
  const lines = rows.map((row) => titles.map((title) => row[title] ?? written.get(keyOf(row))?.[title] ?? UNWRITTEN));
  return markdown.slice(0, begin) + textOf([titles, ...lines]) + markdown.slice(begin + shown.length);
}

/** Columns are as wide as their widest cell, as the formatter writes them. */
function textOf(lines: readonly (readonly string[])[]): string {
  const written = lines.map((cells) => cells.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = (written[0] ?? []).map((_, i) => Math.max(3, ...written.map((cells) => cells[i]?.length ?? 0)));
  const [titles = [], ...rest] = written;
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |\n`;
  return [titles, widths.map((width) => '-'.repeat(width)), ...rest].map(line).join('');
}
