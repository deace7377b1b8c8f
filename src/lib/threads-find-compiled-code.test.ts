import assert from 'node:assert/strict';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { test } from 'node:test';
import { LimitedThread } from './limited-thread.ts';

const TELLS_ITS_FOLDER = `
  import { getCompileCacheDir } from 'node:module';
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', () => parentPort.postMessage([getCompileCacheDir(), Object.keys(process.env)]));`;

test('a thread finds what was compiled before where this process keeps it, and hears of no other setting', async () => {
  enableCompileCache();
  const limits = { timeout: 60_000, memory: 64, idle: 60_000 };
  const program = new URL(`data:text/javascript,${encodeURIComponent(TELLS_ITS_FOLDER)}`);
  await using thread = new LimitedThread<string, [string, string[]]>(program, limits);
  const kept = getCompileCacheDir();
  assert.notEqual(kept, undefined);
  assert.deepEqual(await thread.run('where?'), [kept, ['NODE_COMPILE_CACHE']]);
});
