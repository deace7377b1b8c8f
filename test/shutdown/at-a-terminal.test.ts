/** Somebody starts the service by `npm start` at a terminal, and stops it with the keys that terminals have for that. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { clientOf, pathOf } from '../acceptance/support/knowledge-grid.ts';
import type { Answer } from '../acceptance/support/client.ts';
import type { Client } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { PROJECT, temporaryFolder } from '../acceptance/support/service.ts';
import type { LogLine } from '../acceptance/support/service.ts';
import { descendantsOf } from '../runtimes/support/processes.ts';
import { assertGone } from './support/gone.ts';

const CTRL_C = '\x03';
const naan = uniqueNaan();
/** Says in the log that it has begun, and takes longer than the keys. */
const slow = javascriptKo(
  `function run(n) { console.log('begun'); const end = Date.now() + 500; while (Date.now() < end); return n + 1; }`,
  { naan, name: 'slow' },
);
const spinner = javascriptKo(`function run() { console.log('begun'); while (true); }`, { naan, name: 'spinner' });

interface Terminal extends AsyncDisposable {
  readonly client: Client;
  /** The first line, past or to come, of which `matches` holds. */
  readonly logged: (matches: (line: LogLine) => boolean) => Promise<LogLine>;
  readonly type: (keys: string) => void;
  readonly close: () => void;
  /** Resolves when npm, the service and its sandboxes have ended. */
  readonly gone: () => Promise<void>;
}

async function startAtTerminal(): Promise<Terminal> {
  const shelf = await temporaryFolder();
  const options = ['--port', '0', '--runtimes', 'none', '--shelf', shelf.path, '--profile', 'dev'];
  const service = ['npm', 'start', '--', ...options, '--log-format', 'json', '--execution-timeout', '1m'];
  const helper = join(import.meta.dirname, 'support/at-a-terminal.py');
  const child = spawn('python3', [helper, ...service], { cwd: PROJECT, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const log: LogLine[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{')) return;
    log.push(JSON.parse(text) as LogLine);
    for (const look of waiting) look();
  });
  const logged: Terminal['logged'] = (matches) =>
    new Promise((resolve) => {
      const look = (): void => {
        const line = log.find(matches);
        if (line === undefined) return;
        waiting.delete(look);
        resolve(line);
      };
      waiting.add(look);
      look();
    });
  const { url } = await logged(({ event }) => event === 'listening');
  const client = clientOf(String(url));
  await client.serve(slow, spinner);
  const processes = await descendantsOf(child.pid ?? 0);
  return {
    client,
    logged,
    type: (keys) => child.stdin.write(keys),
    close: () => child.stdin.end(),
    gone: () => assertGone(processes),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
      await shelf[Symbol.asyncDispose]();
    },
  };
}
const begun = ({ msg }: LogLine): boolean => msg === 'begun';
/** @throws where the call is answered before its code says that it runs. */
async function hasBegun(terminal: Terminal, call: Promise<Answer>): Promise<void> {
  const early = call.then(({ text }) => assert.fail(`answered already: ${text}`));
  // It is answered later too.
  early.catch(() => undefined);
  await Promise.race([terminal.logged(begun), early]);
}

const is =
  (name: string) =>
  ({ event }: LogLine): boolean =>
    event === name;

test('one Ctrl-C lets a call in progress finish', { timeout: 180_000 }, async () => {
  await using terminal = await startAtTerminal();
  const call = terminal.client.post(pathOf(slow), 1);
  await hasBegun(terminal, call);
  terminal.type(CTRL_C);
  assert.equal((await call).object['result'], 2);
  await terminal.logged(is('stopped'));
  await terminal.gone();
});

test('a second Ctrl-C, once the service says so, ends it at once', { timeout: 180_000 }, async () => {
  await using terminal = await startAtTerminal();
  const call = terminal.client.post(pathOf(spinner), 1);
  await hasBegun(terminal, call);
  terminal.type(CTRL_C);
  await terminal.logged(is('stopping-takes-time'));
  terminal.type(CTRL_C);
  await assert.rejects(call);
  await terminal.gone();
});

test('a terminal that is closed lets a call in progress finish', { timeout: 180_000 }, async () => {
  await using terminal = await startAtTerminal();
  const call = terminal.client.post(pathOf(slow), 1);
  await hasBegun(terminal, call);
  terminal.close();
  assert.equal((await call).object['result'], 2);
  await terminal.gone();
});
