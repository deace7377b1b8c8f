/** Values of settings as they were given, or their defaults, parsed with a name for whoever gave them. */
import type { RawSettings } from './read-settings.ts';
import { TAKEN_SETTINGS } from './settings.ts';
import type { OptionName } from './settings.ts';
import type { Setting } from './setting.ts';
import { toKoName } from './values.ts';

export class SettingReader {
  readonly #raw: RawSettings;

  constructor(raw: RawSettings) {
    this.#raw = raw;
  }

  text(option: OptionName): string | undefined {
    return this.optional(option, (value) => value);
  }

  optional<T>(option: OptionName, parse: (value: string, source: string) => T): T | undefined {
    const found = this.#raw.get(option);
    const [value] = found?.values ?? [];
    if (value !== undefined) return parse(value, found?.source ?? '');
    const standard = defaultOf(option);
    return standard === undefined ? undefined : parse(standard, `--${option}`);
  }

  /** For settings that have a default. */
  as<T>(option: OptionName, parse: (value: string, source: string) => T): T {
    const value = this.optional(option, parse);
    if (value === undefined) throw new Error(`setting ${option} has no default`);
    return value;
  }

  isGiven(option: OptionName): boolean {
    return this.#raw.get(option)?.values[0] !== undefined;
  }

  /** What the value was given as, for the person who gave it. */
  source(option: OptionName): string {
    return this.#raw.get(option)?.source ?? `--${option}`;
  }

  list(option: OptionName): readonly string[] {
    return this.#raw.get(option)?.values ?? defaultOf(option)?.split(',') ?? [];
  }

  /** With commas in options too. */
  koNames(option: OptionName): readonly string[] {
    const names = this.list(option).flatMap((each) => each.split(','));
    return [...new Set(names.map((name) => toKoName(name.trim(), this.source(option))))];
  }
}

const defaultOf = (option: OptionName): string | undefined =>
  (TAKEN_SETTINGS as readonly Setting[]).find((each) => each.option === option)?.default;
