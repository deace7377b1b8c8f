/** Somebody watches `kgrid run` at a terminal, has enough of it, and goes on with it later. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { people } from './cohort.ts';
import { kgrid, LAUNCHER, PROJECT, temporaryFolder } from './kgrid.ts';

const AT_A_TERMINAL = join(PROJECT, 'test/shutdown/support/at-a-terminal.py');
const CTRL_C = '\x03';
const PEOPLE = 3000;

test('the bar tells how far it is, and Ctrl-C how to go on', { timeout: 240_000 }, async () => {
  await using folder = await temporaryFolder();
  let requests = 0;
  let onStuck = (): void => undefined;
  // Answers the first piece of records, and then nothing until it is told to.
  let isStuck = true;
  const service = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(404).end('{}');
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-location': '/a/b/1/c' });
    return void text(request).then((body) => {
      const lines = body.split('\n').filter((line) => line !== '');
      if (lines.length > 0 && ++requests > 1 && isStuck) return onStuck();
      return response.end(lines.map((line) => `{"result":${line}}\n`).join(''));
    });
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  try {
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    await writeFile(join(folder.path, 'in.csv'), people(PEOPLE));
    const args = ['run', 'a/b/1/c', 'in.csv', '-o', 'out.csv', '--concurrency', '1', '--url', url];
    const stuck = new Promise<void>((resolve) => (onStuck = resolve));
    const terminal = spawn('python3', [AT_A_TERMINAL, process.execPath, LAUNCHER, ...args], {
      cwd: folder.path,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const shown = text(terminal.stdout);
    const ended = once(terminal, 'exit');
    await stuck;
    terminal.stdin.write(CTRL_C);
    const [code] = (await ended) as [number];
    const said = await shown;
    assert.match(said, /#{20} 100 % {2}1000 records {2}[\d,]+\/s/);
    assert.match(said, /Interrupted/);
    assert.match(said, /1000 records of in\.csv are done and kept: the same command with --resume goes on from there/);
    assert.equal(code, 1);
    isStuck = false;
    const resumed = await kgrid([...args, '--resume'], { cwd: folder.path });
    assert.match(resumed.stderr, /^Going on after 1000 records$/m);
    assert.equal(resumed.code, 0);
    assert.equal((await readFile(join(folder.path, 'out.csv'), 'utf8')).split('\n').length, PEOPLE + 2);
  } finally {
    service.closeAllConnections();
    service.close();
  }
});
