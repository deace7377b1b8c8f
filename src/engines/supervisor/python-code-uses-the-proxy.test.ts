import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { AUTHORITY, http, https, target } from '../../../test/support/network/proxied.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const server = await https((request, response) =>
  response.end(`${request.method ?? ''} ${request.headers.host ?? ''}`),
);
const other = await https((_, response) => response.end('other'));
const plain = await http((request, response) => response.end(`plain ${request.url ?? ''}`));
const hosts = [`localhost:${server.port}`, `127.0.0.1:${plain.port}`].map(target);
const pool = await networkedPool({
  engine: 'python',
  permissions: { 'a/may': { any: false, hosts, ports: [] } },
  environment: { SSL_CERT_FILE: AUTHORITY, REQUESTS_CA_BUNDLE: AUTHORITY, SECRET: 'x' },
});
after(async () => {
  for (const each of [pool, server, other, plain]) await each[Symbol.asyncDispose]();
});

/** Where pip lies, which brings `requests` along. */
const PIP = execFileSync('python3', ['-c', 'import os, pip; print(os.path.dirname(os.path.dirname(pip.__file__)))'], {
  encoding: 'utf8',
}).trim();

const URLLIB = `import urllib.request
def run(url):
    return urllib.request.urlopen(url).read().decode()
`;
const REQUESTS = `import sys
sys.path.append(${JSON.stringify(PIP)})
from pip._vendor import requests
def run(url):
    return requests.get(url).text
`;
const ENV = `import os
def run(_):
    return dict(os.environ)
`;

for (const [name, code] of Object.entries({ urllib: URLLIB, requests: REQUESTS })) {
  test(`${name} reaches the hosts that are allowed, and names the option for others`, async () => {
    const address = `localhost:${server.port}`;
    assert.equal(await pool.run('a/may/v1', code, `https://${address}/`), `GET ${address}`);
    assert.equal(await pool.run('a/may/v1', code, `http://127.0.0.1:${plain.port}/x?y`), 'plain /x?y');
    const to = `localhost:${other.port}`;
    const said = `a/may may not connect to ${to}; the operator allows it by --allow-network a/may=${to}`;
    assert.ok(String(await pool.run('a/may/v1', code, `https://${to}/`)).includes(said));
    assert.ok(pool.warnings.includes(said));
    if (name === 'urllib')
      assert.match(
        String(await pool.run('a/may/v1', code, `http://127.0.0.1:${other.port}/`)),
        /HTTP Error 403: a\/may may not connect to \S+; the operator allows it by --allow-network/,
      );
  });
}

test('code without the permission has no proxy', async () => {
  const bare = (await pool.run('a/none/v1', ENV)) as Record<string, string>;
  assert.deepEqual(
    Object.keys(bare).filter((name) => /proxy|secret|cert|bundle/i.test(name)),
    [],
  );
});
