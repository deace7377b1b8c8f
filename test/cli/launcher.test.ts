import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fromTemplate, kgrid, kgridProcess, PROJECT, startKgrid, temporaryFolder } from './kgrid.ts';
import { clientOf } from '../acceptance/support/knowledge-grid.ts';

/** What the launcher sees of a machine whose own Node is too old for the commands. */
const OLD_NODE = [
  '--import',
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.19.0'}})`,
];

test('an older Node hands over to that of the project, with its arguments, output and exit code', async () => {
  const help = await kgridProcess(['create', '--help'], { node: OLD_NODE });
  assert.deepEqual([help.code, help.stderr], [0, '']);
  assert.match(help.stdout, /Usage: kgrid create/);
  const wrong = await kgridProcess(['create', '--engine', 'perl', 'x'], { node: OLD_NODE });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /Allowed choices are (?:\w+, )+\w+\./);
});

test('signals reach a command that an older Node handed over', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('resource', folder.path, 'card');
  const ends = (['SIGINT', 'SIGTERM'] as const).map(async (signal) => {
    await using running = startKgrid(['play', ko, '--port', '0'], { node: OLD_NODE });
    const { url } = await running.next(({ event }) => event === 'listening');
    assert.equal((await clientOf(String(url)).get('/actuator/health')).status, 200);
    const { code, stderr } = await running.stop(signal);
    assert.deepEqual([code, stderr], [0, ''], signal);
    await assert.rejects(clientOf(String(url)).get('/'), /ECONNREFUSED/);
  });
  await Promise.all(ends);
});

test('where the older Node is killed, the command that it handed over ends too', { timeout: 240_000 }, async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('resource', folder.path, 'card');
  await using running = startKgrid(['play', ko, '--port', '0'], { node: OLD_NODE });
  const { url } = await running.next(({ event }) => event === 'listening');
  // Resolves once nobody has its output open any more.
  const { signal } = await running.stop('SIGKILL');
  assert.equal(signal, 'SIGKILL');
  await assert.rejects(clientOf(String(url)).get('/'), /ECONNREFUSED/);
});

const wrongCalls: [string, string[], RegExp][] = [
  ['an unknown command', ['tset'], /unknown command 'tset'\n\(Did you mean test\?\)/],
  ['an unknown option', ['check', 'x', '--jsno'], /unknown option '--jsno'\n\(Did you mean --json\?\)/],
  ['a missing argument', ['check'], /missing required argument 'dir\|zip'/],
  ['a port that is none', ['play', 'x', '--port', '70000'], /--port <port>' .* must be a port from 0 to 65535/],
  ['an address that is none', ['push', 'x', '--url', 'localhost:8080'], /write it like http:/],
  ['no address', ['push', 'x'], /--url http:\/\/…, or set KGRID_URL/],
  ['a user without a password', ['push', 'x', '--url', 'http://localhost', '--user', 'ann'], /set KGRID_PASSWORD/],
  [
    'a variable that is not set',
    ['push', 'x', '--url', 'http://localhost', '--token-env', 'T'],
    /variable T is not set/,
  ],
];
test('a wrong call ends with 2 and says what is right', async () => {
  const ends = await Promise.all(wrongCalls.map(([, args]) => kgrid(args)));
  for (const [i, { code, stderr, stdout }] of ends.entries()) {
    const [what = '', , said = /^$/] = wrongCalls[i] ?? [];
    assert.deepEqual([code, stdout], [2, ''], `${what}: ${stderr}`);
    assert.match(stderr, said, what);
  }
});

test('the version is that of the project', async () => {
  const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8')) as { version: string };
  const { code, stdout } = await kgridProcess(['--version']);
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`^${version.replaceAll('.', '\\.')}(\\+[0-9a-f]{12})?\n$`));
});

test('a file that is not there ends with 3', async () => {
  const { code, stderr } = await kgridProcess(['check', 'no/such/folder']);
  assert.deepEqual([code, stderr], [3, 'There is no file or folder no/such/folder\n']);
});

test('every command has a help text with examples and its exit codes', async () => {
  const commands = ['create', 'play', 'check', 'test', 'pack', 'push', 'list', 'status', 'diff', 'pull', 'delete'];
  const helps = await Promise.all(commands.map((command) => kgrid([command, '--help'])));
  for (const [i, { code, stdout }] of helps.entries()) {
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`\nExamples:\n  kgrid ${commands[i]} |KGRID_URL=`));
    assert.match(stdout, /Exit codes: 0 done, 1 problems found, 2 wrong call, 3 /);
    assert.ok(!stdout.includes('\x1b'), 'no colour in a pipe');
  }
});
