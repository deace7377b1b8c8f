/** Which settings are not as they are by default, as an operator may be shown them: without what is secret in them. */
import { withoutCredentials } from '../lib/without-credentials.ts';
import type { RawSettings } from './read-settings.ts';
import type { Setting } from './setting.ts';
import { TAKEN_SETTINGS } from './settings.ts';

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
