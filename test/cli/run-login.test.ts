/** `kgrid run` at a service that asks for a login. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { kgrid, temporaryFolder } from './kgrid.ts';

test('each request brings the login, and without one it says what to set', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'in.ndjson'), '{"age":1}\n');
  const seen = new Set<string | undefined>();
  const guarded = createServer((request, response) => {
    const { authorization } = request.headers;
    seen.add(authorization);
    request.resume();
    if (authorization === undefined) return response.writeHead(401).end('{}');
    if (request.method !== 'POST') return response.writeHead(404).end('{}');
    const answer = request.headers['content-length'] === '0' ? '' : '{"result":1}\n';
    return response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(answer);
  });
  guarded.listen(0, '127.0.0.1');
  await new Promise((resolve) => guarded.once('listening', resolve));
  const url = `http://127.0.0.1:${(guarded.address() as AddressInfo).port}`;
  const args = ['run', 'a/b/1/c', 'in.ndjson', '--url', url];
  try {
    const logins: [Readonly<Record<string, string>>, string][] = [
      [{ KGRID_USER: 'ann', KGRID_PASSWORD: 'secret' }, `Basic ${btoa('ann:secret')}`],
      [{ KGRID_TOKEN: 'a.b.c' }, 'Bearer a.b.c'],
    ];
    for (const [login, expected] of logins) {
      seen.clear();
      const { code, stderr } = await kgrid(args, { cwd: folder.path, env: login });
      assert.deepEqual([code, [...seen]], [0, [expected]], stderr);
    }
    const without = await kgrid(args, { cwd: folder.path });
    assert.notEqual(without.code, 0);
    assert.match(without.stderr, /set KGRID_USER and KGRID_PASSWORD, or KGRID_TOKEN/);
  } finally {
    guarded.closeAllConnections();
    guarded.close();
  }
});
