/** Authorities that this machine trusts beside those of Debian, such as that of a proxy which looks into TLS. */
import { X509Certificate } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';

const TRUSTED = '/etc/ssl/certs/ca-certificates.crt';

const certificates = (file: string): string[] =>
  readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g) ?? [];
const nameOf = (pem: string): string => new X509Certificate(pem).fingerprint256;

/** As PEM; empty where there are none. */
export function ownAuthorities(): string {
  if (!existsSync(TRUSTED)) return '';
  const common = new Set(globSync('/usr/share/ca-certificates/mozilla/*.crt').flatMap(certificates).map(nameOf));
  return certificates(TRUSTED)
    .filter((pem) => !common.has(nameOf(pem)))
    .join('\n');
}
