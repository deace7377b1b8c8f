import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkedLookup } from './http-client.ts';

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
