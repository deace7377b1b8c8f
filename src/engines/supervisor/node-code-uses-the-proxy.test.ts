import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { AUTHORITY, http, https, target } from '../../../test/support/network/proxied.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const server = await https((request, response) =>
  response.end(`${request.method ?? ''} ${request.headers.host ?? ''}`),
);
const other = await https((_, response) => response.end('other'));
const plain = await http((request, response) => response.end(`plain ${request.url ?? ''}`));
const moved = await http((_, response) =>
  response.writeHead(302, { location: `https://localhost:${other.port}/` }).end(),
);
const hosts = [`localhost:${server.port}`, `127.0.0.1:${plain.port}`, `127.0.0.1:${moved.port}`].map(target);
const pool = await networkedPool({
  engine: 'node',
  permissions: { 'a/may': { any: false, hosts, ports: [] }, 'a/any': { any: true, hosts: [], ports: [] } },
  environment: { NODE_EXTRA_CA_CERTS: AUTHORITY, SECRET: 'x' },
});
after(async () => {
  for (const each of [pool, server, other, plain, moved]) await each[Symbol.asyncDispose]();
});

const ENV = 'export const run = () => ({ ...process.env });';
const FETCH = 'export const run = async (url) => (await fetch(url)).text();';
const BY_MODULE = `export const run = async (url) => {
  const { get } = await import(new URL(url).protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    get(url, async (response) => resolve((await response.toArray()).join(''))).on('error', reject);
  });
}`;

test('fetch, https and http reach the hosts that are allowed', async () => {
  for (const code of [FETCH, BY_MODULE]) {
    const address = `localhost:${server.port}`;
    assert.equal(await pool.run('a/may/v1', code, `https://${address}/`), `GET ${address}`);
    assert.equal(await pool.run('a/may/v1', code, `http://127.0.0.1:${plain.port}/x?y`), 'plain /x?y');
  }
});

test('what is not allowed fails in words that name the option, and is logged once', async () => {
  const to = `localhost:${other.port}`;
  const said = `a/may may not connect to ${to}; the operator allows it by --allow-network a/may=${to}`;
  for (const code of [FETCH, BY_MODULE, FETCH]) {
    const failure = String(await pool.run('a/may/v1', code, `https://${to}/`));
    assert.ok(failure.endsWith(said), failure);
  }
  assert.deepEqual(
    pool.warnings.filter((each) => each === said),
    [said],
  );
  for (const url of ['https://127.0.0.1:1/', 'https://[::1]:1/', 'https://localhost:1/', 'https://169.254.169.254/x'])
    assert.match(
      String(await pool.run('a/any/v1', BY_MODULE, url)),
      /a\/any may not connect to \S+, which is this machine, one of its networks or no address of use; the operator/,
      url,
    );
});

test('a redirect leads nowhere else', async () => {
  assert.match(
    String(await pool.run('a/may/v1', FETCH, `http://127.0.0.1:${moved.port}/`)),
    new RegExp(`may not connect to localhost:${other.port}; the operator allows it by`),
  );
});

test('code without the permission has no proxy, and one of another version or object has another', async () => {
  const bare = (await pool.run('a/none/v1', ENV)) as Record<string, string>;
  assert.deepEqual(
    Object.keys(bare).filter((name) => /proxy|secret|cert/i.test(name)),
    [],
  );
  const all = (await Promise.all(['a/may/v1', 'a/may/v2', 'a/any/v1'].map((ko) => pool.run(ko, ENV)))) as Record<
    string,
    string
  >[];
  const urls = all.map(({ HTTPS_PROXY }) => new URL(HTTPS_PROXY ?? ''));
  assert.equal(new Set(urls.map(({ port }) => port)).size, 3);
  assert.equal(new Set(urls.map(({ password }) => password)).size, 3);
  assert.ok(all.every((each) => each['SECRET'] === undefined && each['NO_PROXY'] === ''));
});

test('the proxy ends with the knowledge object', async () => {
  const { HTTPS_PROXY } = (await pool.run('a/may/v9', ENV)) as Record<string, string>;
  pool.pool.keepOnly(new Set(['a/may/v1', 'a/any/v1'].map((ko) => pool.pool.host(ko, 'state'))));
  for (;;) {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(HTTPS_PROXY ?? '').port) });
    const ended = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).then(
      () => false,
      (thrown: unknown) => (thrown as NodeJS.ErrnoException).code === 'ECONNREFUSED',
    );
    socket.destroy();
    if (ended) return;
  }
});
