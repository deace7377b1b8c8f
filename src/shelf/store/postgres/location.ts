/** Where a database is, as PostgreSQL's own programs word it: `postgres://user@h1:5432,h2/db?sslmode=verify-full`. */
import { startRefused, type ServiceError } from '../../../lib/errors.ts';
import { Secret } from '../../../lib/secret.ts';

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

export interface DatabaseHost {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

export interface DatabaseLocation {
  /** In the order in which they are tried. */
  readonly hosts: readonly [DatabaseHost, ...DatabaseHost[]];
  readonly user: string;
  readonly database: string;
  readonly password: Secret | undefined;
  readonly sslMode: SslMode;
  /** Paths of PEM files; `system` stands for the authorities that the system knows. */
  readonly sslRootCert: string | undefined;
  readonly sslCert: string | undefined;
  readonly sslKey: string | undefined;
  /** Milliseconds, for each host. */
  readonly connectTimeout: number;
  /** As it may be shown: without the password. */
  readonly label: string;
}

const STANDARD_PORT = 5432;
const STANDARD_CONNECT_TIMEOUT_MS = 5000;
const LONGEST_CONNECT_TIMEOUT_SECONDS = 300;
const KNOWN = [
  ...['host', 'port', 'user', 'password', 'dbname'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'connect_timeout', 'target_session_attrs'],
];

export const isPostgresLocation = (location: string): boolean => /^postgres(?:ql)?:/i.test(location);

/** @param osUser who connects where the location names nobody, as `psql` does. @throws startRefused, never naming the password. */
export function parseLocation(location: string, osUser = 'kgrid'): DatabaseLocation {
  const [, authority, path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(location) ?? [];
  if (authority === undefined) throw refused('it is no address of a database');
  const at = authority.lastIndexOf('@');
  const [name = '', ...rest] = authority.slice(0, Math.max(at, 0)).split(':');
  const parameters = parametersOf(query);
  const password = parameters.get('password') ?? (rest.length > 0 ? decoded(rest.join(':')) : undefined);
  const user = (parameters.get('user') ?? decoded(name)) || osUser;
  const database = (parameters.get('dbname') ?? decoded(path)) || user;
  if ([user, database].some((each) => each.includes('\0'))) throw refused('a name in it has a character of code 0');
  const hosts = hostsOf(authority.slice(at + 1), parameters);
  const sslMode = sslModeOf(parameters);
  const shown = hosts.map(({ host, port }) => (host.startsWith('/') ? host : `${bracketed(host)}:${String(port)}`));
  return {
    ...{ hosts, user, database, sslMode },
    password: password === undefined || password === '' ? undefined : new Secret(password),
    sslRootCert: rootCertOf(parameters, sslMode),
    sslCert: parameters.get('sslcert'),
    sslKey: parameters.get('sslkey'),
    connectTimeout: timeoutOf(parameters),
    label: `postgres://${encodeURIComponent(user)}@${shown.join(',')}/${encodeURIComponent(database)}`,
  };
}

function parametersOf(query: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const each of query === '' ? [] : query.split('&')) {
    const [name = '', ...value] = each.split('=');
    if (!KNOWN.includes(name))
      throw refused(`it has a parameter ${JSON.stringify(name.slice(0, 40))}; known are ${KNOWN.join(', ')}`);
    found.set(name, decoded(value.join('=')));
  }
  const target = found.get('target_session_attrs') ?? 'read-write';
  if (!['any', 'read-write', 'primary'].includes(target))
    throw refused('its target_session_attrs must be read-write, since an activator writes');
  return found;
}

function hostsOf(written: string, parameters: ReadonlyMap<string, string>): readonly [DatabaseHost, ...DatabaseHost[]] {
  const ports = (parameters.get('port') ?? '').split(',').map((each) => (each === '' ? undefined : portOf(each)));
  const named = parameters.get('host');
  const [first, ...others] = (named ?? written).split(',').map((each, index) => {
    const standard = ports[ports.length === 1 ? 0 : index] ?? STANDARD_PORT;
    const [, host, port] = named === undefined ? (AUTHORITY.exec(each) ?? []) : [each, each.trim(), undefined];
    if (host === undefined)
      throw refused('a host in it, or its port, is none: write host, host:5432, or [2001:db8::1]:5432');
    const name = decoded(host).replace(/^\[(.*)\]$/, '$1');
    return {
      host: name === '' ? 'localhost' : name,
      port: port === undefined || port === '' ? standard : portOf(port),
    };
  });
  if (first === undefined) throw refused('it names no host');
  return [first, ...others];
}

const AUTHORITY = /^(\[[\da-f:.]+\]|[^:[\]\s]*)(?::(\d*))?$/i;

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw refused('a port in it is not one from 1 to 65535');
  return port;
}

function sslModeOf(parameters: ReadonlyMap<string, string>): SslMode {
  const written = parameters.get('sslmode') ?? (parameters.get('sslrootcert') === 'system' ? 'verify-full' : 'prefer');
  const mode = SSL_MODES.find((each) => each === written);
  if (mode === undefined) throw refused(`its sslmode must be one of ${SSL_MODES.join(', ')}`);
  if (parameters.has('sslcert') !== parameters.has('sslkey'))
    throw refused('sslcert and sslkey belong together: name both');
  return mode;
}

function rootCertOf(parameters: ReadonlyMap<string, string>, mode: SslMode): string | undefined {
  const file = parameters.get('sslrootcert');
  if (file === undefined && (mode === 'verify-ca' || mode === 'verify-full'))
    throw refused(`sslmode=${mode} needs sslrootcert: the PEM file of the authority, or system`);
  if (file === 'system' && mode !== 'verify-full') throw refused('sslrootcert=system needs sslmode=verify-full');
  return file;
}

function timeoutOf(parameters: ReadonlyMap<string, string>): number {
  const text = parameters.get('connect_timeout');
  if (text === undefined) return STANDARD_CONNECT_TIMEOUT_MS;
  const seconds = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > LONGEST_CONNECT_TIMEOUT_SECONDS)
    throw refused(`its connect_timeout must be 1 to ${String(LONGEST_CONNECT_TIMEOUT_SECONDS)} seconds`);
  return seconds * 1000;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('a percent sign in it begins no %XX: write %25 for the sign itself');
  }
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** The location may hold a password, so no part of it is repeated. */
const refused = (why: string): ServiceError =>
  startRefused(
    `--shelf: ${why}; write it like postgres://user@host:5432/database?sslmode=verify-full&sslrootcert=ca.pem`,
  );

export const STANDARD_FLEET = 'kgrid';

const NAME = /^[a-z][a-z0-9_-]{0,39}$/;
/** Schemas that PostgreSQL or everybody has. */
const TAKEN = /^(?:public|information_schema|pg_.*)$/;

/** Of the schema of a fleet. @throws startRefused. */
export function schemaName(fleet: string): string {
  if (!NAME.test(fleet) || TAKEN.test(fleet))
    throw startRefused(
      `--fleet is ${JSON.stringify(fleet.slice(0, 60))}, but must be 1 to 40 lower-case letters, digits, hyphens and underscores that begin with a letter, and be none of PostgreSQL's own schemas`,
    );
  return fleet;
}
