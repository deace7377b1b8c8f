/** Reads the settings from options and variables: "Option before `KGRID_*` before alias." */
import { parseArgs } from 'node:util';
import { wordLike } from '../lib/did-you-mean.ts';
import { startRefused } from '../lib/errors.ts';
import { withoutCredentials } from '../lib/without-credentials.ts';
import type { Setting } from './setting.ts';
import { type OptionName, SETTINGS, TAKEN_SETTINGS } from './settings.ts';

export interface RawValue {
  readonly values: readonly string[];
  /** `--port`, `KGRID_PORT`, …: where it was read. */
  readonly source: string;
}

export type RawSettings = ReadonlyMap<OptionName, RawValue>;

export type Arguments = { readonly print: 'help' | 'version' } | { readonly settings: RawSettings };

/** @throws startRefused with one line that names the option and what is allowed. */
export function readSettings(argv: readonly string[], env: NodeJS.ProcessEnv): Arguments {
  const given = readOptions(argv);
  if (typeof given === 'string') return { print: given };
  const settings = new Map<OptionName, RawValue>();
  for (const setting of TAKEN_SETTINGS as readonly (Setting & { option: OptionName })[]) {
    const value = given.get(setting.option) ?? readVariable(setting, env);
    if (value !== undefined) settings.set(setting.option, value);
  }
  return { settings };
}

function readOptions(argv: readonly string[]): Map<OptionName, RawValue> | 'help' | 'version' {
  const found = new Map<OptionName, { values: string[]; source: string }>();
  const { tokens } = parseArgs({ args: withFlags(argv), options: OPTIONS, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') throw unknown(argv[token.index] ?? '');
    const { name, rawName, value = 'true' } = token;
    if (name === HELP || name === VERSION) return name;
    const setting = TAKEN_SETTINGS.find(({ option }) => rawName === `--${option}`);
    if (setting === undefined) throw unknown(rawName);
    // An empty value is a variable of a script that was never set: it must not mean all addresses or this folder.
    if ((setting.kind !== 'flag' && token.value === undefined) || value.trim() === '')
      throw startRefused(`Option --${name} needs a value`);
    const known = found.get(setting.option) ?? { values: [], source: rawName };
    if (known.values.length > 0 && setting.kind !== 'list') throw startRefused(`Option --${name} is given twice`);
    known.values.push(value);
    found.set(setting.option, known);
  }
  return found;
}

/** An option that was a flag before it had values may still stand alone. */
const withFlags = (argv: readonly string[]): string[] =>
  argv.map((word, at) => {
    const kind = (TAKEN_SETTINGS as readonly Setting[]).find(({ option }) => word === `--${option}`)?.kind;
    return kind === 'proxies' && (argv[at + 1]?.startsWith('-') ?? true) ? `${word}=true` : word;
  });

const HELP = 'help';
const VERSION = 'version';
const OPTIONS = {
  [HELP]: { type: 'boolean', short: 'h' },
  [VERSION]: { type: 'boolean' },
  ...Object.fromEntries(
    TAKEN_SETTINGS.map(({ option, kind }) => [option, { type: kind === 'flag' ? 'boolean' : 'string' }] as const),
  ),
} as const;

const unknown = (word: string): Error =>
  startRefused(`Unknown option ${word}${suggestion(word.replace(/^--/, ''))}; --help lists all`);

function suggestion(name: string): string {
  const options = SETTINGS.map(({ option }) => option);
  const near =
    wordLike(name, options) ??
    options.find((option) => name.length > 2 && (option.includes(name) || name.includes(option)));
  return near === undefined ? '' : `, did you mean --${near}?`;
}

function readVariable(setting: Setting, env: NodeJS.ProcessEnv): RawValue | undefined {
  const own = env[setting.env];
  if (own !== undefined && own !== '') return { values: listOf(setting, own), source: setting.env };
  for (const alias of setting.aliases ?? []) {
    const value = env[alias];
    if (value !== undefined && value !== '') return { values: listOf(setting, fromAlias(alias, value)), source: alias };
  }
  return undefined;
}

const listOf = (setting: Setting, value: string): string[] =>
  setting.kind === 'list'
    ? value
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== '')
    : [value];

/** Some variables of the original activator have a form of their own. */
function fromAlias(alias: string, value: string): string {
  if (alias === 'SPRING_PROFILES_ACTIVE')
    return value.split(',').some((each) => each.trim() === 'dev') ? 'dev' : 'secure';
  return alias === 'KGRID_SHELF_CDOSTORE_URL' || alias === 'KGRID_SHELF_LOCATION' ? folderOf(value) : value;
}

/** `filesystem:file:///dir`, and `filesystem:file://shelf`: the original's default, a folder beside the service. */
function folderOf(location: string): string {
  const [, path] = /^(?:filesystem:)?file:(?:\/\/(?:localhost(?=\/))?)?(.+)$/i.exec(location) ?? [];
  if (path === undefined) return location.replace(/^filesystem:/i, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Which settings are not as they are by default, as an operator may be shown them: without what is secret in them. */
export interface ChangedSetting {
  readonly option: string;
  readonly value: string;
  /** The default that `--help` shows; null where there is none. */
  readonly default: string | null;
  readonly group: Setting['group'];
}

const HIDDEN = '(set)';
/** Settings of which only the fact that they are set is shown. */
const SECRETS: ReadonlySet<string> = new Set(['password']);
/** Settings of which only the text before the equals sign is shown: the value may be a secret of knowledge objects. */
const PAIRS: ReadonlySet<string> = new Set(['property']);

/** In the order of the settings. */
export function changedSettings(raw: RawSettings): ChangedSetting[] {
  return (TAKEN_SETTINGS as readonly (Setting & { option: Parameters<RawSettings['get']>[0] })[]).flatMap((setting) => {
    const { option, kind, group } = setting;
    const values = raw.get(option)?.values;
    const usual = setting.default ?? (kind === 'flag' ? 'false' : null);
    if (values === undefined || values.join(',') === usual) return [];
    return [{ option, value: values.map((value) => shown(option, value)).join(', '), default: usual, group }];
  });
}

function shown(option: string, value: string): string {
  if (SECRETS.has(option)) return HIDDEN;
  if (PAIRS.has(option)) return `${value.split('=', 1)[0] ?? ''}=${HIDDEN}`;
  // A query may hold what a user and password do.
  return withoutCredentials(value).replace(/(:\/\/[^?#]*)[?#].*$/s, '$1?…');
}

const PLACEHOLDERS: Readonly<Record<Setting['kind'], string>> = {
  text: 'TEXT',
  port: 'PORT',
  duration: 'DURATION',
  pause: 'DURATION',
  size: 'SIZE',
  count: 'NUMBER',
  number: 'NUMBER',
  flag: '',
  choice: '',
  list: 'TEXT',
  proxies: 'NUMBER|NETWORKS',
};

/** What `--help` prints. */
export function helpText(): string {
  const settings: readonly Setting[] = SETTINGS;
  const left = (each: Setting): string =>
    `  --${each.option} ${each.choices?.join('|') ?? PLACEHOLDERS[each.kind]}`.trimEnd();
  const width = Math.max(...settings.map((each) => left(each).length)) + 2;
  const line = (each: Setting): string => {
    const standard = each.default === undefined ? '' : ` (default ${each.default})`;
    return `${left(each).padEnd(width)}${each.help}${standard}\n${' '.repeat(width)}${[each.env, ...(each.aliases ?? [])].join(', ')}`;
  };
  const groups = [...new Set(settings.map((each) => each.group))];
  const sections = groups.map((group) =>
    [`${group}:`, ...settings.filter((each) => each.group === group).map(line)].join('\n'),
  );
  return [
    'KGrid Activator: serves knowledge objects as REST endpoints.',
    '',
    'Usage: npm start -- [options]',
    '',
    '--help prints this, --version the version and the commit.',
    'Each option can be given as a variable instead, named below it. An option wins over a variable,',
    'a KGRID_* variable over the names of the original activator that stand after it.',
    'DURATION: 500ms, 5s, 2m. SIZE: 500KB, 10MB.',
    '',
    sections.join('\n\n'),
    '',
    'Examples:',
    '  npm start                                        the examples, in the dev profile',
    '  npm start -- --shelf ./shelf --profile dev       a shelf of your own while you write knowledge objects',
    '  KGRID_USER=ann KGRID_PASSWORD=… npm start -- --shelf /var/lib/kgrid --host 0.0.0.0',
    '',
  ].join('\n');
}
