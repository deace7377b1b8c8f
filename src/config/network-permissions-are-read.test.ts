import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkPermission } from '../engines/network/permission.ts';
import { formatHostPort } from '../lib/host-port.ts';
import { configOf, refusalOf } from '../../test/support/config/config-of.ts';

const shown = ({ any, hosts, ports }: NetworkPermission): string =>
  [...(any ? ['any'] : []), ...hosts.map(formatHostPort), ...ports.map((port) => `*:${String(port)}`)].join(' ');

const permissions = (argv: readonly string[], env: NodeJS.ProcessEnv = {}): Record<string, string> =>
  Object.fromEntries([...configOf(argv, env).network].map(([name, each]) => [name, shown(each)]));

const option = (...values: string[]): string[] => values.flatMap((each) => ['--allow-network', each]);

test('hosts are named with their ports, several for one knowledge object', () => {
  assert.deepEqual(permissions([]), {});
  assert.deepEqual(permissions(option('a/b=api.example.org:443')), { 'a/b': 'api.example.org:443' });
  assert.deepEqual(permissions(option('a/b=x.org:1,a/b=y.org:2', 'c/d', 'a/b=x.org:1', 'a/b=*:5432')), {
    'a/b': 'x.org:1 y.org:2 *:5432',
    'c/d': 'any',
  });
  const variable = { KGRID_ALLOW_NETWORK: 'a/b=x.org:80, a/b ,c/d=[::1]:5432' };
  assert.deepEqual(permissions([], variable), { 'a/b': 'any x.org:80', 'c/d': '[::1]:5432' });
});

test('a host has one spelling, and port 443 where none is said', () => {
  const spellings = {
    'api.example.org': 'api.example.org:443',
    'API.Example.ORG.:8443': 'api.example.org:8443',
    'bücher.example': 'xn--bcher-kva.example:443',
    db_1: 'db_1:443',
    '10.0.0.1:5432': '10.0.0.1:5432',
    '0x7f.1:80': '127.0.0.1:80',
    '[2001:DB8:0::1]': '[2001:db8::1]:443',
    '[::ffff:10.0.0.1]:80': '10.0.0.1:80',
  };
  for (const [written, read] of Object.entries(spellings))
    assert.deepEqual(permissions(option(`a/b=${written}`)), { 'a/b': read }, written);
});

test('what is written wrong is refused with what to write instead', () => {
  const refusals: Readonly<Record<string, string>> = {
    a: 'naan/name, naan/name=host or naan/name=host:port',
    'a/b/v1': 'naan/name, naan/name=host or naan/name=host:port',
    'a/b/v1=x.org': 'naan/name, naan/name=host or naan/name=host:port',
    '=x.org': 'naan/name, naan/name=host or naan/name=host:port',
    'x.org:443': 'naan/name, naan/name=host or naan/name=host:port',
    'a/b=https://x.org/y': 'a host and a port, without a scheme and a path',
    'a/b=': 'naan/name alone for any public host, or naan/name=*:port for a port of every host',
    'a/b=*': 'naan/name alone for any public host, or naan/name=*:port for a port of every host',
    'a/b=*.x.org:443': 'a whole host: name each one that it may reach, in an option of its own',
    'a/b=10.0.0.0/8': 'one host: ranges of addresses and paths cannot be allowed',
    'a/b=x.org/y': 'one host: ranges of addresses and paths cannot be allowed',
    'a/b=2001:db8::1': 'a host and a port, an IPv6 address in brackets and without a zone: [2001:db8::1]:443',
    'a/b=[fe80::1%eth0]:80': 'a host and a port, an IPv6 address in brackets and without a zone: [2001:db8::1]:443',
    'a/b=x.org:0': 'a host with a port from 1 to 65535',
    'a/b=x.org:65536': 'a host with a port from 1 to 65535',
    'a/b=x.org:': 'a host with a port from 1 to 65535',
    'a/b=*:0': 'a port from 1 to 65535 behind *:',
    'a/b=x.org:https': 'a host such as api.example.org or api.example.org:443',
    'a/b=x..org': 'a host such as api.example.org or api.example.org:443',
    'a/b=x y': 'a host such as api.example.org or api.example.org:443',
    'a/b=me@x.org': 'a host such as api.example.org or api.example.org:443',
  };
  for (const [written, allowed] of Object.entries(refusals)) {
    assert.equal(refusalOf(option(written)), `--allow-network is '${written}', but must be ${allowed}`);
    const variable = refusalOf([], { KGRID_ALLOW_NETWORK: `c/d,${written}` });
    assert.equal(variable, `KGRID_ALLOW_NETWORK is '${written}', but must be ${allowed}`);
  }
  assert.match(refusalOf(option('a/b=https://me:secret@x.org')), /^--allow-network is 'a\/b=https:\/\/x\.org', but/);
});

test('the port of the service is not opened on every host', () => {
  assert.match(refusalOf(option('a/b=*:8080')), /'a\/b=\*:8080', but that is the port of this service/);
  assert.match(refusalOf(['--port', '5432', ...option('a/b=*:5432')]), /that is the port of this service/);
  assert.deepEqual(permissions(['--port', '80', ...option('a/b=*:8080')]), { 'a/b': '*:8080' });
});

test('knowledge objects that may start programs are named', () => {
  assert.deepEqual(configOf([]).processes, []);
  assert.deepEqual(configOf(['--allow-addons', 'a/b']).addons, ['a/b']);
  assert.deepEqual(configOf(['--allow-processes', 'a/b,c/d', '--allow-processes', 'a/b']).processes, ['a/b', 'c/d']);
  assert.deepEqual(configOf([], { KGRID_ALLOW_PROCESSES: 'a/b' }).processes, ['a/b']);
  assert.match(
    refusalOf(['--allow-processes', 'a/b/v1']),
    /^--allow-processes is 'a\/b\/v1', but must be the naan\/name/,
  );
});
