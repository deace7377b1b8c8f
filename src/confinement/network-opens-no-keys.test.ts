import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MACHINE, NETWORK, SYSTEM } from './needed-files.ts';

const KEYS = [
  '/etc/ssl/private/host.key',
  '/etc/pki/tls/private/host.key',
  '/etc/pki/rsyslog/host.key',
  '/etc/pki/nssdb/key4.db',
];

test('what may use the network reads certificates, and no private key of the machine', () => {
  const open = [...SYSTEM, ...MACHINE, ...NETWORK];
  for (const key of KEYS)
    assert.deepEqual(
      open.filter((path) => key.startsWith(`${path}/`)),
      [],
    );
  for (const file of ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt'])
    assert.ok(open.some((path) => file.startsWith(`${path}/`)));
});
