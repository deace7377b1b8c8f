import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainFailure } from './explain.ts';
import type { NetworkState } from './explain.ts';
import { Refusal } from './permission.ts';
import { target } from '../../../test/support/network/proxied.ts';

const NONE: NetworkState = { name: 'a/b', wanted: [] };
const permission = { any: false, hosts: [target('api.example:443')], ports: [] };

/** The words of Node 24, undici, Python 3.11, requests and asyncio behind a filter of system calls. */
const OF_CONNECTIONS = [
  'Error: connect EPERM 127.0.0.1:9 - Local (undefined:undefined)',
  'Error: connect EACCES 93.184.215.14:443',
  'Error: connect EACCES /run/x.sock',
  'TypeError: fetch failed: getaddrinfo EAI_AGAIN example.org',
  'Error: getaddrinfo ENOTFOUND example.org',
  'Error: queryA ECONNREFUSED example.org',
  'Error: listen EPERM: operation not permitted 0.0.0.0',
  'Error: bind EPERM 0.0.0.0',
  'URLError: <urlopen error [Errno -3] Temporary failure in name resolution>',
  'URLError: <urlopen error [Errno 1] Operation not permitted>',
  'gaierror: [Errno -2] Name or service not known',
  "ConnectionError: HTTPSConnectionPool(host='127.0.0.1', port=9): Max retries exceeded with url: / (Caused by NewConnectionError(\"HTTPSConnection(host='127.0.0.1', port=9): Failed to establish a new connection: [Errno 13] Permission denied\"))",
  'ClientConnectorError: Cannot connect to host a.example:443 ssl:default [Errno 13] Permission denied',
];
const OF_HTTPX = 'ConnectError: [Errno 1] Operation not permitted';
const OF_PROGRAMS = ['Error: spawn sh EPERM', 'Error: spawnSync /bin/ls EACCES', 'Error: spawn sh EAGAIN'];
const OF_ELSE = [
  'Error: connect ECONNREFUSED 93.184.215.14:443',
  'TypeError: x is not a function',
  'HTTPError: HTTP Error 404: Not Found',
  'HTTPError: HTTP Error 403: Forbidden',
  'Error: the tunnel under the Channel has 50 km',
];

test('a refused connection says what the operator would allow', () => {
  for (const each of [...OF_CONNECTIONS, OF_HTTPX]) {
    const said = explainFailure(each, NONE);
    assert.equal(
      said,
      `${each}: network access is refused to knowledge objects; the operator allows it by --allow-network a/b=host:443`,
    );
    assert.equal(explainFailure(said, NONE), said, 'once');
  }
});

test('… and what the knowledge object asks for', () => {
  const wanted = [target('api.example:443'), target('db.example:5432')];
  assert.equal(
    explainFailure('Error: connect EPERM 1.2.3.4:443', { ...NONE, wanted }),
    'Error: connect EPERM 1.2.3.4:443: network access is refused to knowledge objects, and this one asks for ' +
      'api.example:443, db.example:5432; the operator allows it by --allow-network a/b=api.example:443 --allow-network a/b=db.example:5432',
  );
});

test('past the proxy it names the port that would have to be open', () => {
  for (const each of OF_CONNECTIONS)
    assert.match(
      explainFailure(each, { ...NONE, permission }),
      /proxy of HTTPS_PROXY alone.*--allow-network a\/b=\*:port$/,
    );
});

test('what the proxy refused is told in its words, whatever the library makes of it', () => {
  const last = new Refusal(403, 'a/b may not connect to evil.example:443; the operator allows it by …');
  const said = [
    'TypeError: fetch failed: Proxy response (403) !== 200 when HTTP Tunneling',
    'OSError: Tunnel connection failed: 403',
    "ProxyError: HTTPSConnectionPool(host='evil.example', port=443): Max retries exceeded (Caused by ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 403')))",
  ];
  for (const each of said)
    assert.equal(explainFailure(each, { ...NONE, permission, last }), `${each}: ${last.message}`);
  const whole = `OSError: Tunnel connection failed: 403 ${last.message}`;
  assert.equal(explainFailure(whole, { ...NONE, permission, last }), whole, 'not twice');
  for (const each of said) assert.equal(explainFailure(each, { ...NONE, permission }), each, 'it refused nothing');
});

test('a program that was not started says so, and what may be either says both', () => {
  for (const each of OF_PROGRAMS)
    assert.match(
      explainFailure(each, NONE),
      /may start no programs; the operator allows it by --allow-processes a\/b$/,
    );
  for (const each of [
    'PermissionError: [Errno 1] Operation not permitted',
    'PermissionError: [Errno 13] Permission denied',
  ])
    assert.match(
      explainFailure(each, NONE),
      /--allow-network a\/b=host:443; programs are started where --allow-processes a\/b/,
    );
});

const OF_FILES = 'knowledge objects read their own folder, and write in their folder for temporary files alone';

test('a file that was refused says which files there are', () => {
  for (const each of [
    "PermissionError: [Errno 13] Permission denied: 'model_info/log.txt'",
    "Error: EACCES: permission denied, open '/etc/shadow'",
  ]) {
    assert.equal(explainFailure(each, NONE), `${each}: ${OF_FILES}`);
    assert.equal(explainFailure(each, { ...NONE, isWalled: false }), each);
  }
});

test('what the permission model of Node refused is told in words of the service', () => {
  const restricted = 'Error: Access to this API has been restricted';
  const said: readonly [string, string][] = [
    [
      `${restricted}. Use --allow-worker to manage permissions.`,
      `${restricted}: knowledge objects have no worker threads; what a call does, it does in its own`,
    ],
    [`${restricted}. Use --allow-fs-write to manage permissions.`, `${restricted}: ${OF_FILES}`],
    [
      `${restricted}. Use --allow-child-process to manage permissions.`,
      `${restricted}: knowledge objects may start no programs; the operator allows it by --allow-processes a/b`,
    ],
  ];
  for (const [description, expected] of said) assert.equal(explainFailure(description, NONE), expected);
  assert.match(explainFailure('Error: No such built-in module: node:sqlite', NONE), /closed to knowledge objects/);
  assert.match(
    explainFailure(`${restricted}. Use --allow-fs-read to manage permissions.`, { ...NONE, isWalled: false }),
    /read their own folder/,
  );
});

test('other failures are left as they are', () => {
  for (const each of OF_ELSE) assert.equal(explainFailure(each, NONE), each);
});
