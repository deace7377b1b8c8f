import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressKind, checkedLookup } from './addresses.ts';
import type { AddressKind } from './addresses.ts';

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
  private: [
    '127.0.0.1',
    '127.255.255.254',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '198.18.0.1',
    '0.0.0.0',
    '::',
    '::1',
    'fc00::1',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '::ffff:0:127.0.0.1',
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

const resolvesTo =
  (...addresses: string[]): Parameters<typeof checkedLookup>[1] =>
  (_name, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );

const found = (allow: boolean, ...addresses: string[]): Promise<unknown> =>
  new Promise((resolve, reject) =>
    checkedLookup(allow, resolvesTo(...addresses))('name', { all: true }, (error, list) => {
      if (error === null) resolve(list);
      else reject(error);
    }),
  );

test('a name gives only the addresses that may be asked', async () => {
  assert.deepEqual(await found(false, '127.0.0.1', '8.8.8.8', 'fe80::1'), [{ address: '8.8.8.8', family: 4 }]);
  assert.deepEqual(await found(true, '169.254.169.254', '::1'), [{ address: '::1', family: 6 }]);
});

test('a name without such an address is an error', async () => {
  await assert.rejects(found(false, '127.0.0.1', '10.0.0.1'), /private or loopback/);
  await assert.rejects(found(true, '169.254.169.254'), /never asked/);
  await assert.rejects(found(true), /has no address/);
});

test('where one address is asked for, the first allowed one is given', () => {
  checkedLookup(false, resolvesTo('127.0.0.1', '8.8.8.8', '9.9.9.9'))('name', {}, (error, address, family) => {
    assert.deepEqual([error, address, family], [null, '8.8.8.8', 4]);
  });
});
