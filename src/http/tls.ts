/** TLS without a proxy: certificates are read again when their files change, for connections that come from then on. */
import { readFile, stat } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createSecureContext, Server as TlsServer } from 'node:tls';
import type { FastifyBaseLogger } from 'fastify';
import type { TlsFiles } from '../config/tls-settings.ts';
import { messageOf, startRefused } from '../lib/errors.ts';

/** What a TLS server is made with. */
export interface TlsContext {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert: boolean;
  /** Who has none, or one of somebody else, is nobody: what one may is asked for later. */
  readonly rejectUnauthorized: false;
  readonly minVersion: 'TLSv1.2';
}

const LOOKED_AT_EVERY_MS = 2000;

/** @throws startRefused. */
export async function readTls(files: TlsFiles): Promise<TlsContext> {
  try {
    return await contextOf(files);
  } catch (thrown) {
    throw startRefused(`--tls-cert, --tls-key and --tls-client-ca cannot be used: ${messageOf(thrown)}`);
  }
}

/** Takes the files as they are from then on, until what it gives is disposed. What cannot be used leaves what was there. */
export function watchTls(server: Server, files: TlsFiles, log: FastifyBaseLogger): Disposable {
  let isLooking = false;
  let known: string | undefined;
  let problem = '';
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      const stamp = await stampOf(files);
      if (known !== undefined && stamp !== known && server instanceof TlsServer) {
        server.setSecureContext(await contextOf(files));
        log.info({ event: 'certificate-read' }, 'the certificate of the service was read again');
      }
      known = stamp;
      problem = '';
    } catch (thrown) {
      const cause = messageOf(thrown);
      if (cause !== problem)
        log.warn({ event: 'certificate-not-read', cause }, 'the certificate of the service cannot be read again');
      problem = cause;
    } finally {
      isLooking = false;
    }
  };
  void look();
  const timer = setInterval(() => void look(), LOOKED_AT_EVERY_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** @throws Error also where the key is not that of the certificate. */
async function contextOf({ cert, key, clientCa }: TlsFiles): Promise<TlsContext> {
  const [certificate, secret, ca] = await Promise.all([
    readFile(cert),
    readFile(key),
    clientCa === undefined ? undefined : readFile(clientCa),
  ]);
  const context = { cert: certificate, key: secret, ...(ca !== undefined && { ca }) };
  createSecureContext(context);
  return { ...context, requestCert: ca !== undefined, rejectUnauthorized: false, minVersion: 'TLSv1.2' };
}

async function stampOf({ cert, key, clientCa }: TlsFiles): Promise<string> {
  const paths = [cert, key, ...(clientCa === undefined ? [] : [clientCa])];
  const all = await Promise.all(paths.map((path) => stat(path, { bigint: true })));
  return all.map(({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`).join();
}
