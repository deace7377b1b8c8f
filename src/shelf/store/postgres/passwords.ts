/** Where the password of the database comes from. It is looked up for each connection, so that it may change. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseHost, DatabaseLocation } from './location.ts';

export interface PasswordSources {
  /** Reads `--shelf-password-file`. @throws startRefused. */
  readonly file?: (() => string) | undefined;
  /** Of the process: `PGPASSWORD`, `PGPASSFILE`, and `HOME` for `~/.pgpass`. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Undefined where there is none: the server may let this user in without. */
export async function passwordFor(
  location: DatabaseLocation,
  host: DatabaseHost,
  { file, environment = {} }: PasswordSources,
): Promise<string | undefined> {
  if (file !== undefined) return file();
  if (location.password !== undefined) return location.password.reveal();
  const given = environment['PGPASSWORD'];
  if (given !== undefined && given !== '') return given;
  const home = environment['HOME'];
  const path = environment['PGPASSFILE'] ?? (home === undefined ? undefined : join(home, '.pgpass'));
  if (path === undefined || (await isOpenToOthers(path))) return undefined;
  const text = await readFile(path, 'utf8').catch(() => '');
  return passwordIn(text, host, location);
}

/** The first line that fits `host:port:database:user:password`, of which each may be `*`. */
export function passwordIn(
  text: string,
  { host, port }: DatabaseHost,
  { database, user }: Pick<DatabaseLocation, 'database' | 'user'>,
): string | undefined {
  const wanted = [host.startsWith('/var/run/postgresql') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = line.match(FIELD)?.map((each) => each.replace(/\\(.)/g, '$1')) ?? [];
    const password = fields[wanted.length]?.slice(1);
    const fits = wanted.every((each, index) => {
      const field = index === 0 ? fields[0] : fields[index]?.slice(1);
      return field === '*' || field === each;
    });
    if (fits && password !== undefined) return password;
  }
  return undefined;
}

/** The first, or one with the colon before it. */
const FIELD = /(?:^|:)(?:[^:\\]|\\.)*/g;

/** As PostgreSQL's own programs do, a file that others may read is not used. */
async function isOpenToOthers(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found === undefined || !found.isFile() || (found.mode & 0o077) !== 0;
}
