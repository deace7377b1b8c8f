/** The tables of the documents that are written from rows of the program: `npm run docs` writes them. */
import * as catalogue from '../../../src/lib/errors.ts';
import { RETIRED_SETTINGS } from '../../../src/config/retired-settings.ts';
import type { RetiredSetting } from '../../../src/config/retired-settings.ts';
import type { Setting } from '../../../src/config/setting.ts';
import { SETTINGS } from '../../../src/config/settings.ts';
import { FAMILIES } from '../../../src/metrics/families.ts';
import type { Family } from '../../../src/metrics/families.ts';
import { operationsOf, readInterface } from './interface.ts';
import type { Operation } from './interface.ts';
import { cellsOf } from './markdown.ts';
import type { Row } from './markdown.ts';
import { read } from './project.ts';

interface Table {
  /** The heading or line after which it stands; its document, where that has one such table. */
  readonly after?: string;
  readonly firstColumn: string;
  /** Columns that tell a row; people write the columns that no row has. */
  readonly keys: readonly string[];
  readonly rows: readonly Row[];
}

const settings: readonly Setting[] = SETTINGS;
const retired: readonly RetiredSetting[] = RETIRED_SETTINGS;
const families: readonly Family[] = Object.values(FAMILIES);
const code = (text: string | undefined): string => (text === undefined || text === '' ? '' : `\`${text}\``);

/** What people have to write still. */
export const UNWRITTEN = '?';

/** No errors of callers: a start that is refused, and what reads errors. */
const NO_ERRORS = ['EXECUTION_ERRORS', 'ServiceError', 'messageOf', 'outcomeOf', 'startRefused', 'toError'];

/** What each factory of the catalogue makes. */
function errorRows(): Row[] {
  const factories = Object.entries(catalogue).filter(([name]) => !NO_ERRORS.includes(name));
  return factories.map(([name, make]) => {
    const made: unknown = (make as (...given: unknown[]) => unknown)('x', 'y', ['GET']);
    if (!(made instanceof catalogue.ServiceError)) throw new Error(`${name} makes no ServiceError`);
    return { Code: code(made.code), Status: String(made.status), Title: made.title };
  });
}

/** Who may use an operation. */
function accessOf(path: string, { security }: Operation): string {
  if (security === undefined) return 'open';
  if (security.every((way) => Object.keys(way).length > 0)) return 'login';
  return path.startsWith('/actuator/health') ? 'open, more with a login' : 'open, login with `--secure-execution`';
}

async function pathRows(): Promise<Row[]> {
  const { paths } = await readInterface();
  return Object.entries(paths).flatMap(([path, item]) =>
    operationsOf(item)
      .filter(([method]) => method !== 'head')
      .map(([method, operation]) => ({
        Path: code(path),
        Method: method === 'get' && item.head !== undefined ? 'GET, HEAD' : method.toUpperCase(),
        Access: accessOf(path, operation),
        Statuses: Object.keys(operation.responses)
          .filter((status) => status !== 'default')
          .join(', '),
      })),
  );
}

const tables = async (): Promise<Readonly<Record<string, readonly Table[]>>> => ({
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
  'docs/interface.md': [
    { firstColumn: 'Code', keys: ['Code', 'Title'], rows: errorRows() },
    { after: '## All paths', firstColumn: 'Path', keys: ['Path', 'Method'], rows: await pathRows() },
  ],
});

/** Each document with its tables as they must be. */
export async function generatedDocuments(): Promise<Map<string, string>> {
  return new Map(
    Object.entries(await tables()).map(([file, all]) => [file, all.reduce<string>(withTable, read(file))]),
  );
}

function withTable(markdown: string, { after = '', firstColumn, keys, rows }: Table): string {
  const begin = markdown.indexOf(`\n| ${firstColumn} `, markdown.indexOf(after)) + 1;
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
