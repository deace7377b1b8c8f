/** `kgrid run` that is killed again and again, or cannot write on, leaves in the end what an undisturbed run leaves. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startService } from '../acceptance/support/service.ts';
import { footprintOf } from '../hostile/support/footprint.ts';
import { inRound } from '../support/round.ts';
import { cohortKo, people } from './cohort.ts';
import { kgrid, LAUNCHER, temporaryFolder } from './kgrid.ts';

const PEOPLE = inRound(5000, 20_000);
/** How long each request takes at least: a run keeps what it did twice a second. */
const REQUEST_MS = 300;
const LOOK_EVERY_MS = 5;
const KILL_EVERY_MS = 20;
/** Each costs a start of the command. */
const MOST_KILLS = inRound(2, Infinity);
/** Blocks of 512 or 1024 bytes, fewer than any output has. */
const LIMITED = 'ulimit -f 150; exec "$0" "$@"';
const FORMATS = inRound(['csv'], ['csv', 'parquet']);

const shelf = await temporaryFolder();
await cohortKo(shelf.path);
// Records are given up when none of them came to its end within the limit of a call.
const service = await startService({ shelf: shelf.path, args: ['--execution-timeout', '5s'] });
const folder = await temporaryFolder();
/** Called before records are passed on, with what their answer goes to. */
let onRecords: (answer: ServerResponse) => Promise<void> = () => Promise.resolve();
/** Stands before the service, so that a run takes long enough to be killed in its middle, however fast the machine is. */
const slow = createServer((request, response) => {
  const { method = 'GET', headers, url = '' } = request;
  void pause(headers['content-length'] === '0' ? 0 : REQUEST_MS).then(async () => {
    if (Number(headers['content-length']) > 0) await onRecords(response);
    const onward = httpRequest(service.url + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward).once('error', () => response.destroy());
  });
});
await once(slow.listen(0, '127.0.0.1'), 'listening');
after(async () => {
  slow.closeAllConnections();
  slow.close();
  await service[Symbol.asyncDispose]();
  await shelf[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const cwd = folder.path;
const env = { KGRID_URL: service.url };
const { port } = slow.address() as AddressInfo;
const ofProcess = { cwd, env: { PATH: process.env['PATH'], KGRID_URL: `http://127.0.0.1:${port}` } };
const args = ['run', 'test/cohort/1.0/score', 'in.csv', '--concurrency', '2', '-o'];
await writeFile(join(cwd, 'in.csv'), people(PEOPLE));
for (const format of FORMATS) {
  const undisturbed = await kgrid([...args, `good.${format}`], { cwd, env });
  assert.equal(undisturbed.code, 1, undisturbed.stderr);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Without what differs: the files are large. */
async function assertSame(name: string, format: string): Promise<void> {
  for (const end of [format, `${format}.failed.ndjson`]) {
    const [out, good] = [await readFile(join(cwd, `${name}.${end}`)), await readFile(join(cwd, `good.${end}`))];
    assert.ok(out.equals(good), `${name}.${end} differs from what an undisturbed run writes`);
  }
  assert.equal((await readdir(cwd)).includes(`${name}.${format}.run`), false, 'nothing else is left');
}

for (const format of FORMATS)
  test(`killed whenever it has come further, and resumed, it writes byte for byte the same: ${format}`, async () => {
    const progress = async (): Promise<number> => {
      const said = await readFile(join(cwd, `out.${format}.run/progress.json`), 'utf8').catch(() => '{}');
      return (JSON.parse(said) as { state?: { records: number } }).state?.records ?? 0;
    };
    let kills = 0;
    for (let done = 0; ; kills++) {
      const child = spawn(process.execPath, [LAUNCHER, ...args, `out.${format}`, '--resume'], {
        ...ofProcess,
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      while (kills < MOST_KILLS && child.exitCode === null && (await progress()) <= done) await pause(LOOK_EVERY_MS);
      done = Math.max(done, await progress());
      if (kills < MOST_KILLS) child.kill('SIGKILL');
      const [code] = (await ended) as [number | null];
      if (code === null) continue;
      assert.equal(code, 1);
      break;
    }
    assert.ok(kills > 0);
    await assertSame('out', format);
  });

test('where all sandboxes are killed until records are given up, a run sends these again and writes the same', async () => {
  const killAll = async (): Promise<void> => (await footprintOf(service.pid)).children.forEach(kill);
  onRecords = (answer) => {
    onRecords = () => Promise.resolve();
    const killing = setInterval(() => void killAll(), KILL_EVERY_MS);
    answer.once('close', () => clearInterval(killing));
    return killAll();
  };
  const { code, stderr } = await kgrid([...args, 'killed.csv'], { cwd, env: { KGRID_URL: ofProcess.env.KGRID_URL } });
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^Trying again in 1 s, 1 of 8: 503 Service Unavailable: no sandbox came to run records /m);
  await assertSame('killed', 'csv');
});

for (const format of FORMATS)
  test(`where its file can grow no more it says so, and loses nothing of what came before: ${format}`, async () => {
    const limited = spawn('sh', ['-c', LIMITED, process.execPath, LAUNCHER, ...args, `full.${format}`], {
      ...ofProcess,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const said = await text(limited.stderr);
    assert.match(said, /^full\..*\.run\/.* cannot be written: the file has become as large as files may be$/m);
    assert.match(said, /^(?:\d+ records? of in\.csv (?:is|are) done and kept|Nothing was done)/m);
    await kgrid([...args, `full.${format}`, '--resume'], { cwd, env });
    await assertSame('full', format);
  });
