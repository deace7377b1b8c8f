/** What each `sslmode` asks for, as PostgreSQL's own programs mean it; the driver means other things by the same words. */
import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import { messageOf } from '../../../lib/errors.ts';
import { DatabaseError } from './database-error.ts';
import type { DatabaseLocation } from './location.ts';

/** How a connection is tried: with TLS by these options, or plain. */
export type Attempt = ConnectionOptions | false;

/** In order: the next is tried where the server does not want the one before. @throws DatabaseError for files that cannot be read. */
export async function attemptsFor(location: DatabaseLocation, host: string): Promise<readonly Attempt[]> {
  const { sslMode } = location;
  // Unix sockets carry no TLS.
  if (sslMode === 'disable' || host.startsWith('/')) return [false];
  const tls = await tlsOptions(location);
  if (sslMode === 'allow') return [false, tls];
  return sslMode === 'prefer' ? [tls, false] : [tls];
}

async function tlsOptions({ sslMode, sslRootCert, sslCert, sslKey }: DatabaseLocation): Promise<ConnectionOptions> {
  const [ca, cert, key] = await Promise.all([
    sslRootCert === undefined || sslRootCert === 'system' ? undefined : read(sslRootCert, 'sslrootcert'),
    sslCert === undefined ? undefined : read(sslCert, 'sslcert'),
    sslKey === undefined ? undefined : read(sslKey, 'sslkey'),
  ]);
  return {
    // With an authority named, `require` verifies it too.
    rejectUnauthorized: sslMode.startsWith('verify') || (sslMode === 'require' && ca !== undefined),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(sslMode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}

async function read(path: string, parameter: string): Promise<Buffer> {
  try {
    const bytes = await readFile(path);
    if (!bytes.includes('-----BEGIN ')) throw new Error('it holds nothing in the form PEM');
    return bytes;
  } catch (thrown) {
    throw new DatabaseError('tls', `${parameter} names ${path}, which cannot be used: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}
