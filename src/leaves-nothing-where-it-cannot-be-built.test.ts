import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createApp, type App } from './app.ts';
import { toConfig } from './config/config.ts';
import type { RawSettings } from './config/read-settings.ts';
import { Lifecycle } from './lifecycle.ts';
import { createLog, type Logger } from './lib/log.ts';
import { Output } from './lib/output.ts';
import { openShelf } from './shelf/stores.ts';

/** What lives on where nobody ends it, also where it does not keep the process from ending. */
const LIVING = new Set(['Timeout', 'PROCESSWRAP', 'TCPSERVERWRAP', 'PIPESERVERWRAP', 'WORKER', 'FSEVENTWRAP']);

function build(folder: string, log: Logger, settings: RawSettings = new Map()): Promise<App> {
  return createApp({
    config: toConfig(settings),
    shelf: join(folder, 'shelf'),
    build: { version: '0', commit: 'unknown' },
    lifecycle: new Lifecycle(),
    environment: {},
    cache: folder,
    log,
    lostLines: () => 0,
  });
}

const silent = (): Logger => createLog({ level: 'silent', format: 'json' }, new Output(1));

/** A log that the `nth` part that asks for one of its own does not get. */
function logThatFails(nth: number): { log: Logger; asked: () => number } {
  let asked = 0;
  const log = silent();
  const child = log.child.bind(log);
  log.child = ((...about: Parameters<Logger['child']>) => {
    if (++asked === nth) throw new Error(`part ${nth} fails`);
    return child(...about);
  }) as Logger['child'];
  return { log, asked: () => asked };
}

async function temporary(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'kgrid-app-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Files below a folder that this process has open: the locks are among them. */
async function openFilesBelow(folder: string): Promise<string[]> {
  const all = await readdir('/proc/self/fd');
  const paths = await Promise.all(all.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder));
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What `act` leaves alive, by its kind. */
async function leftAliveBy(act: () => Promise<unknown>): Promise<string[]> {
  const living = new Map<number, string>();
  const hook = createHook({
    init: (id, kind) => LIVING.has(kind) && living.set(id, kind),
    destroy: (id) => living.delete(id),
  }).enable();
  await act();
  // What was destroyed is told of afterwards; of threads that ended, when they are collected.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
  hook.disable();
  return [...living.values()];
}

test('whichever part cannot be made, those before it are ended: no lock, no open file, no timer is left', async () => {
  await using folder = await temporary();
  for (let nth = 1; ; nth++) {
    const { log, asked } = logThatFails(nth);
    let app: App | undefined;
    const left = await leftAliveBy(async () => {
      const built = build(folder.path, log);
      await built.then(
        (made) => (app = made),
        (thrown: unknown) => assert.match(String(thrown), new RegExp(`part ${nth} fails`)),
      );
      await app?.[Symbol.asyncDispose]();
    });
    const where = app === undefined ? `part ${nth} failed` : 'it was built and ended';
    assert.deepEqual({ left, open: await openFilesBelow(folder.path) }, { left: [], open: [] }, where);
    await using shelf = await openShelf(join(folder.path, 'shelf'));
    assert.deepEqual(await shelf.list(), []);
    if (app !== undefined) {
      assert.ok(asked() >= 6, `only ${asked()} parts could fail`);
      break;
    }
  }
});
