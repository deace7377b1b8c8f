import { outcomeUnknown, ServiceError, shelfFull, shelfNotWritable, shelfUnavailable } from '../../../lib/errors.ts';

/** What can be wrong with a database, told apart by what a person or the service does about it. */
export type DatabaseFault =
  /** Nobody answers there, or a connection broke. */
  | 'unreachable'
  /** It takes longer than is waited for. */
  | 'timeout'
  /** User or password. */
  | 'credentials'
  /** There is no database of that name. */
  | 'database'
  /** The certificate is not one that is trusted, or is of another name; or the server has none. */
  | 'tls'
  /** Nothing can be written: a standby, or one that is set so. */
  | 'read-only'
  /** The disk of the server is full. */
  | 'full'
  /** The user may not do that. */
  | 'permission'
  /** The server has as many connections as it may. */
  | 'connections'
  /** The schema is newer than this program, not of it, or not whole. */
  | 'schema'
  /** Any other error of the server. */
  | 'server';

export class DatabaseError extends Error {
  readonly fault: DatabaseFault;
  /** Of the server. */
  readonly sqlState: string | undefined;
  /** The connection cannot be used any more. */
  readonly isBroken: boolean;
  /** It came at the end of a transaction, which may be done or not. */
  readonly isUnsure: boolean;

  constructor(
    fault: DatabaseFault,
    message: string,
    more: { sqlState?: string; isBroken?: boolean; isUnsure?: boolean; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'DatabaseError';
    this.fault = fault;
    this.sqlState = more.sqlState;
    this.isBroken = more.isBroken ?? false;
    this.isUnsure = more.isUnsure ?? false;
  }
}

/** It may pass without a person's doing: to be tried again. */
export const isTransient = ({ fault }: DatabaseError): boolean =>
  ['unreachable', 'timeout', 'read-only', 'connections', 'full'].includes(fault);

/** A start with it cannot go well until a person has changed something. */
export const stopsStart = ({ fault }: DatabaseError): boolean =>
  ['credentials', 'database', 'tls', 'permission', 'schema'].includes(fault);

/** By SQLSTATE, or the first two characters of it. */
const BY_STATE: Readonly<Record<string, DatabaseFault>> = {
  '28': 'credentials',
  '3D000': 'database',
  '25006': 'read-only',
  '53100': 'full',
  '53300': 'connections',
  '42501': 'permission',
  '08': 'unreachable',
  '57P': 'unreachable',
  '57014': 'timeout',
  // A table, column or schema that all of this needs.
  '42P01': 'schema',
  '42703': 'schema',
  '3F000': 'schema',
};

const BREAKING: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03', '57P05', '08006', '08003', '08P01', '25P03']);

/** The error of this module for whatever a driver or a socket throws. @param onConnect it came while connecting. */
export function toDatabaseError(thrown: unknown, onConnect = false): DatabaseError {
  if (thrown instanceof DatabaseError) return thrown;
  // The start was refused because of what the database has.
  if (thrown instanceof ServiceError) return new DatabaseError('schema', thrown.message, { cause: thrown });
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const more = { cause: thrown };
  if (/^[0-9A-Z]{5}$/.test(code) && 'severity' in error) {
    const fault = BY_STATE[code] ?? BY_STATE[code.slice(0, 3)] ?? BY_STATE[code.slice(0, 2)] ?? 'server';
    const isBroken = onConnect || BREAKING.has(code);
    return new DatabaseError(fault, `${error.message} (SQLSTATE ${code})`, { ...more, sqlState: code, isBroken });
  }
  if (/^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO)/.test(code))
    return new DatabaseError('tls', `TLS: ${error.message}`, { ...more, isBroken: true });
  if (/SSL|TLS/.test(error.message)) return new DatabaseError('tls', error.message, { ...more, isBroken: true });
  if (/^SASL|password must be a string/i.test(error.message))
    return new DatabaseError('credentials', noPassword(error.message), { ...more, isBroken: true });
  return new DatabaseError('unreachable', code === '' ? error.message : `${code}: ${error.message}`, {
    ...more,
    isBroken: true,
  });
}

const noPassword = (message: string): string =>
  message.includes('must be a') ? 'the server asks for a password, and none is given' : message;

/** What callers hear of it, in the words of the contract. */
export function asServiceError(thrown: unknown): unknown {
  if (!(thrown instanceof DatabaseError)) return thrown;
  if (thrown.isUnsure)
    return outcomeUnknown(
      'The connection to the database broke at the end of this change, and cannot be made again yet: the change may be done or not. Look whether it is before you ask for it again.',
      thrown,
    );
  if (thrown.fault === 'full')
    return shelfFull(
      'The database of the shelf has no space left; nothing was changed. Free space there and try again.',
      { cause: thrown },
    );
  if (thrown.fault === 'permission')
    return shelfNotWritable(
      'The database of the shelf does not let its user make this change; nothing was changed. Grant it SELECT, INSERT, UPDATE and DELETE on the tables of its schema.',
      { cause: thrown },
    );
  if (['server', 'schema'].includes(thrown.fault))
    return shelfNotWritable('The database of the shelf refused the change; nothing was changed.', { cause: thrown });
  const why = thrown.fault === 'read-only' ? 'can only be read' : 'cannot be reached';
  return shelfUnavailable(
    `The database of the shelf ${why} at the moment, so nothing can be changed: try again later. Calls and reads go on.`,
    thrown,
  );
}
