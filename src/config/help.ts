import { SETTINGS } from './settings.ts';
import type { Setting } from './setting.ts';

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
