import assert from 'node:assert/strict';
import { hostname, networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { formatHostPort } from '../../lib/host-port.ts';
import { Refusal } from './permission.ts';
import { Resolver } from './resolve.ts';
import { names, target } from '../../../test/support/network/proxied.ts';

const known = {
  'api.example': ['93.184.215.14', '2606:2800::1'],
  'other.example': ['93.184.215.15'],
  'inside.example': ['10.1.2.3'],
  'metadata.example': ['169.254.169.254'],
  'loop.example': ['127.0.0.1'],
  'loop6.example': ['::1'],
  'zero.example': ['0.0.0.0'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'mixed.example': ['127.0.0.1', '93.184.215.14', '10.0.0.1'],
  localhost: ['127.0.0.1', '::1'],
};

/** The addresses, or the refusal; and the names that were asked for. */
async function attempt(to: string, allow: readonly string[], any = false): Promise<{ found: string; asked: string[] }> {
  const { lookup, asked } = names(known);
  const resolver = new Resolver({
    name: 'a/b',
    permission: { any, hosts: allow.map(target), ports: [] },
    wanted: () => [],
    lookup,
    timeoutMs: 5000,
  });
  try {
    const found = await resolver.resolve(target(to));
    return { found: found.map(({ address }) => address).join(' '), asked };
  } catch (thrown) {
    assert.ok(thrown instanceof Refusal, String(thrown));
    return { found: `${String(thrown.status)} ${thrown.message}`, asked };
  }
}

test('a host that was named is reached at its addresses', async () => {
  const { found, asked } = await attempt('API.example.:443', ['api.example:443']);
  assert.equal(found, '93.184.215.14 2606:2800::1');
  assert.deepEqual(asked, ['api.example']);
});

test('another host, another port and an address of the same host are refused, and no name is asked for', async () => {
  for (const to of ['other.example:443', 'api.example:80', '93.184.215.14:443', 'x.api.example:443', 'localhost:443']) {
    const { found, asked } = await attempt(to, ['api.example:443']);
    assert.equal(
      found,
      `403 a/b may not connect to ${to}; the operator allows it by --allow-network a/b=${to}`,
      'names the option to give',
    );
    assert.deepEqual(asked, [], 'the name server hears nothing');
  }
});

test('any host means those with a public address, in all spellings of others', async () => {
  assert.equal((await attempt('api.example:5432', [], true)).found, '93.184.215.14 2606:2800::1');
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const refused = [
    ...['127.0.0.1', '127.1', '0x7f.1', '2130706433', '017700000001', '127.0.0.1.', '[::1]', '[::ffff:127.0.0.1]'],
    ...['[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '0', '0.0.0.0', '[::]', '10.0.0.1', '192.168.1.1'],
    ...['169.254.169.254', '[fe80::1]', '224.0.0.1', '255.255.255.255', '[fd00::1]', '100.64.0.1', 'localhost'],
    ...['LOCALHOST.', 'loop.example', 'loop6.example', 'zero.example', 'mapped.example', 'inside.example'],
    ...['metadata.example', '⑫7.0.0.1', '127。0。0。1'],
    ...own
      .filter(({ scopeid }) => scopeid === undefined || scopeid === 0)
      .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address)),
  ];
  for (const host of refused) {
    const { found } = await attempt(`${host}:443`, [], true);
    assert.match(
      found,
      /^403 a\/b may not connect to .*, which is this machine, one of its networks or no address/,
      host,
    );
  }
  assert.equal((await attempt('mixed.example:443', [], true)).found, '93.184.215.14', 'of several, those that may be');
});

test('a name leads into own networks where it was named, and to this machine only as localhost or as its address', async () => {
  assert.equal((await attempt('inside.example:5432', ['inside.example:5432'])).found, '10.1.2.3');
  assert.equal((await attempt('localhost:5432', ['localhost:5432'])).found, '127.0.0.1 ::1');
  for (const address of ['127.0.0.1', '169.254.169.254', '[::1]', '10.0.0.1'])
    assert.equal((await attempt(`${address}:80`, [`${address}:80`])).found, address.replace(/[[\]]/g, ''));
  assert.equal(
    (await attempt('[::ffff:127.0.0.1]:80', ['127.0.0.1:80'])).found,
    '127.0.0.1',
    'one address, one spelling',
  );
  for (const host of ['loop.example', 'loop6.example', 'zero.example', 'mapped.example', 'metadata.example'])
    assert.match(
      (await attempt(`${host}:443`, [`${host}:443`])).found,
      /^403 .* leads to this machine or to an address that nothing of use has; the operator allows that by naming the address/,
      host,
    );
});

test('a name that leads to an own address of the machine is refused, public or not', async () => {
  const own = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  if (own === undefined) return;
  const { lookup } = names({ [hostname().toLowerCase()]: [own], 'me.example': [own] });
  const permission = { any: false, hosts: [target('me.example:443')], ports: [] };
  const resolver = new Resolver({ name: 'a/b', permission, wanted: () => [], lookup, timeoutMs: 5000 });
  await assert.rejects(resolver.resolve(target('me.example:443')), /leads to this machine/);
});

test('a name that is not there, and one that is not resolved in time, are told apart from what is refused', async () => {
  assert.equal(
    (await attempt('none.example:443', ['none.example:443'])).found,
    '502 the name of none.example:443 cannot be resolved (ENOTFOUND)',
  );
  const permission = { any: true, hosts: [], ports: [] };
  const resolver = new Resolver({ name: 'a/b', permission, wanted: () => [], lookup: () => undefined, timeoutMs: 20 });
  await assert.rejects(resolver.resolve(target('slow.example:443')), /^Refusal: the name .* was not resolved in time$/);
});

test('one name is resolved at a time, so that one knowledge object leaves some of it to others', async () => {
  const waiting: (() => void)[] = [];
  const resolver = new Resolver({
    name: 'a/b',
    permission: { any: true, hosts: [], ports: [] },
    wanted: () => [],
    lookup: (_name, _options, callback) => void waiting.push(() => callback(null, [{ address: '8.8.8.8', family: 4 }])),
    timeoutMs: 60_000,
  });
  const all = Array.from({ length: 9 }, (_, index) => resolver.resolve(target(`n${String(index)}.example:443`)));
  for (let answered = 0; answered < 9; answered++) {
    assert.equal(waiting.length, 1);
    waiting.shift()?.();
    await new Promise(setImmediate);
  }
  assert.equal((await Promise.all(all)).length, 9);
});

test('a refusal names what the knowledge object asks for too', async () => {
  const wanted = [target('api.example:443'), target('[2606:2800::1]:8443')];
  const permission = { any: false, hosts: [target('api.example:443')], ports: [] };
  const resolver = new Resolver({ name: 'a/b', permission, wanted: () => wanted, timeoutMs: 5000 });
  await assert.rejects(resolver.resolve(target('evil.example:443')), {
    message: `a/b may not connect to evil.example:443 (it asks for ${wanted.map(formatHostPort).join(', ')}); the operator allows it by --allow-network a/b=evil.example:443`,
  });
});
