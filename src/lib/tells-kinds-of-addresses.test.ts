import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressKind } from './address-kind.ts';
import type { AddressKind } from './address-kind.ts';

const kinds: Record<AddressKind, string[]> = {
  public: [
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '100.128.0.1',
    '11.0.0.1',
    '2606:4700::1111',
    '64:ff9b::808:808',
    '::ffff:8.8.8.8',
    '2002:808:808::1',
  ],
  own: [
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '::ffff:0:127.0.0.1',
  ],
  private: [
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '198.18.0.1',
    'fc00::1',
    'fd00:ec2::254',
    '::ffff:10.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::1',
    'fec0::1',
  ],
  never: [
    '169.254.169.254',
    '169.254.0.0',
    '0.0.0.1',
    '0.255.255.255',
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'ff02::1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '::169.254.169.254',
    '2001:0:1::1',
  ],
};

for (const [kind, addresses] of Object.entries(kinds)) {
  for (const address of addresses) test(`${address} is ${kind}`, () => assert.equal(addressKind(address), kind));
}
