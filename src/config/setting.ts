import { isKoPart, RESERVED_NAANS } from '../knowledge-object/id.ts';
import { startRefused } from '../lib/errors.ts';
import { withoutEndSlashes } from '../lib/text.ts';
import { withoutCredentials } from '../lib/without-credentials.ts';
import type { RawSettings } from './read-settings.ts';
import { type OptionName, TAKEN_SETTINGS } from './settings.ts';

/** One setting: an option, its variable, and what its values are. */
export interface Setting {
  /** `--<option>`. */
  readonly option: string;
  readonly env: string;
  /** Variables of the original activator that mean the same. */
  readonly aliases?: readonly string[];
  /** What a value looks like. */
  readonly kind:
    | 'text'
    | 'port'
    | 'duration'
    | 'pause'
    | 'size'
    | 'count'
    | 'number'
    | 'flag'
    | 'choice'
    | 'list'
    | 'proxies';
  readonly choices?: readonly string[];
  /** In the form in which it is written; absent: none. */
  readonly default?: string;
  readonly group: 'Service' | 'Shelf' | 'Access' | 'Limits' | 'Engines' | 'Logs' | 'Metrics';
  readonly help: string;
}

// Turns the text of a setting into its value. All throw startRefused, naming the setting and what is allowed.

/** Names the setting, what it was given and what is allowed. */
export const refuse = (source: string, value: string, allowed: string): Error =>
  startRefused(`${source} is '${withoutCredentials(value)}', but must be ${allowed}`);

export function toPort(value: string, source: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : NaN;
  if (port <= 65535) return port;
  throw refuse(source, value, 'a port from 0 to 65535');
}

export function toCount(value: string, source: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw refuse(source, value, 'a whole number from 1 on');
}

/** `<naan>/<name>`. */
export function toKoName(value: string, source: string): string {
  const parts = value.split('/');
  if (parts.length === 2 && parts.every(isKoPart)) return value;
  throw refuse(source, value, 'the naan/name of a knowledge object');
}

export function toNumber(value: string, source: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw refuse(source, value, 'a whole number from 0 on');
}

const DURATIONS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, '': 1 };

/** In milliseconds. */
export function toDuration(value: string, source: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|)$/i.exec(value.trim()) ?? [];
  const milliseconds = Math.round(Number(amount) * (DURATIONS[unit?.toLowerCase() ?? ''] ?? NaN));
  if (milliseconds >= 1 && milliseconds <= 86_400_000) return milliseconds;
  throw refuse(source, value, 'a duration such as 500ms, 5s or 2m (a number alone is milliseconds), up to 24h');
}

/** Reads a duration like `toDuration`, or 0 for none. */
export const toPause = (value: string, source: string): number =>
  /^0+\s*(?:ms|s|m|h|)$/i.test(value.trim()) ? 0 : toDuration(value, source);

const SIZES: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 2 ** 10, mb: 2 ** 20, gb: 2 ** 30 };

/** In bytes. */
export function toSize(value: string, source: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb|)$/i.exec(value.trim()) ?? [];
  const bytes = Math.round(Number(amount) * (SIZES[unit?.toLowerCase() ?? ''] ?? NaN));
  if (bytes >= 1 && bytes <= 4 * 2 ** 30) return bytes;
  throw refuse(source, value, 'a size such as 500KB or 10MB (a number alone is bytes), up to 4GB');
}

export function toFlag(value: string, source: string): boolean {
  if (/^(true|1|yes|on)$/i.test(value)) return true;
  if (/^(false|0|no|off)$/i.test(value)) return false;
  throw refuse(source, value, 'true or false');
}

export function toChoice<T extends string>(value: string, source: string, choices: readonly T[]): T {
  const found = choices.find((each) => each === value.toLowerCase());
  if (found !== undefined) return found;
  throw refuse(source, value, `one of ${choices.join(', ')}`);
}

export function toUrl(value: string, source: string): string {
  const url = URL.parse(value);
  // These addresses are shown to everybody.
  if (url !== null && url.username + url.password !== '')
    throw startRefused(`${source} must have no user and no password`);
  if (url !== null && /^https?:$/.test(url.protocol)) return withoutEndSlashes(value);
  throw refuse(source, value, 'an http or https URL');
}

/** A naan that no path of the service has. */
export function toNaan(value: string, source: string): string {
  if (isKoPart(value) && !RESERVED_NAANS.has(value)) return value;
  throw refuse(source, value, `1 to 64 letters, digits and periods, and none of ${[...RESERVED_NAANS].join(', ')}`);
}

/** A name of a machine, which may have a port. */
export function toHost(value: string, source: string): string {
  const url = /^[\w.:[\]-]+$/.test(value) ? URL.parse(`http://${value}`) : null;
  if (url !== null && url.hostname !== '' && url.pathname === '/') return value.toLowerCase();
  throw refuse(source, value, 'a name such as kgrid.example.org, or one with its port such as activator:8080');
}

/** Values of settings as they were given, or their defaults, parsed with a name for whoever gave them. */
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
