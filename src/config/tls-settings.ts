/** The files with which the service speaks TLS itself, and what client certificates give. */
import { GRANT_FORM, Grants, isGrant } from '../identity/grants.ts';
import { startRefused } from '../lib/errors.ts';
import type { SettingReader } from './setting.ts';

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | undefined;
}

interface TlsSettings {
  readonly tls: TlsFiles | undefined;
  readonly certificates: ReadonlyMap<string, Grants> | undefined;
}

/** @throws startRefused. */
export function tlsOf(read: SettingReader): TlsSettings {
  const [cert, key, clientCa] = [read.text('tls-cert'), read.text('tls-key'), read.text('tls-client-ca')];
  if ((cert === undefined) !== (key === undefined))
    throw startRefused(`--tls-${cert === undefined ? 'cert' : 'key'} is missing: TLS needs a certificate and its key`);
  if (cert === undefined || key === undefined) {
    const alone = (['tls-client-ca', 'tls-grant'] as const).find((each) => read.isGiven(each));
    if (alone !== undefined) throw startRefused(`${read.source(alone)} needs --tls-cert and --tls-key`);
    return { tls: undefined, certificates: undefined };
  }
  if (clientCa === undefined && read.isGiven('tls-grant'))
    throw startRefused(`${read.source('tls-grant')} needs --tls-client-ca`);
  return { tls: { cert, key, clientCa }, certificates: certificatesOf(read) };
}

function certificatesOf(read: SettingReader): ReadonlyMap<string, Grants> {
  const grants = new Map<string, string[]>();
  for (const text of read.list('tls-grant')) {
    const at = text.lastIndexOf('=');
    const [name, grant] = [text.slice(0, Math.max(0, at)).trim(), text.slice(at + 1).trim()];
    if (name === '' || !isGrant(grant))
      throw startRefused(
        `${read.source('tls-grant')} is '${text}', but must be name=grant, where a grant is ${GRANT_FORM}`,
      );
    grants.set(name, [...(grants.get(name) ?? []), grant]);
  }
  return new Map([...grants].map(([name, texts]) => [name, Grants.of(texts)]));
}
