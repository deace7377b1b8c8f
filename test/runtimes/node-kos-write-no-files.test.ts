/**
 * Ways past Node's permission model that code of the engine `node` has tried: each wrote a file, led out of the process
 * or changed another one before it was closed.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { descendantsOf } from './support/processes.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { theWorkersService } from './support/the-services.ts';

/** Compiles enough for V8 to write whatever traces it was told to write. */
const compile = `
const heat = new Function('n', 'let sum = 0; for (let i = 0; i < n; i++) sum += i; return sum');
for (let i = 0; i < 20000; i++) heat(100);`;
const sqlite = (from: string): string => `new (${from}).DatabaseSync(target + '/opened.db').exec('create table t (x)')`;

/** By what they use; \`target\` is a folder that the user of the service may write. */
const attacks: Readonly<Record<string, string>> = {
  'a redirected trace of V8': `
    const v8 = require('v8');
    v8.setFlagsFromString('--trace-turbo-path=' + target);
    v8.setFlagsFromString('--trace-turbo');${compile}`,
  'flags of V8 by getBuiltinModule': `
    process.getBuiltinModule('node:v8').setFlagsFromString('--trace-turbo-path=' + target);
    process.getBuiltinModule('node:v8').setFlagsFromString('--trace-turbo');${compile}`,
  'flags of V8 by import': `
    const { setFlagsFromString } = await import('node:v8');
    setFlagsFromString('--trace-turbo-path=' + target);
    setFlagsFromString('--trace-turbo');${compile}`,
  'flags of V8 by the default of an import': `
    const v8 = await import('v8');
    v8.default.setFlagsFromString('--trace-turbo-path=' + target);
    v8.default.setFlagsFromString('--trace-turbo');${compile}`,
  'flags of V8 by createRequire': `
    const v8 = require('module').createRequire(__filename)('v8');
    v8.setFlagsFromString('--trace-turbo-path=' + target);
    v8.setFlagsFromString('--trace-turbo');${compile}`,
  'flags of V8 by the loader': `
    const v8 = process.mainModule?.require('v8') ?? require('module')._load('v8');
    v8.setFlagsFromString('--trace-turbo-path=' + target);
    v8.setFlagsFromString('--trace-turbo');${compile}`,
  'a loader of modules in a thread of its own': `
    require('module').register('data:text/javascript,' + encodeURIComponent(
      'import v8 from "node:v8"; v8.setFlagsFromString("--trace-turbo-path=' + target + '");' +
      'v8.setFlagsFromString("--trace-turbo")'));${compile}`,
  'a thread': `
    new (require('worker_threads').Worker)("require('fs').writeFileSync('" + target + "/thread', '')", {
      eval: true, execArgv: ['--no-permission'], env: { NODE_OPTIONS: '--no-permission' } })`,
  'a database': sqlite("require('node:sqlite')"),
  'a database by getBuiltinModule': sqlite("process.getBuiltinModule('node:sqlite')"),
  'a database by import': sqlite("await import('node:sqlite')"),
  'VACUUM INTO': `
    const database = new (require('node:sqlite').DatabaseSync)(':memory:');
    database.exec('create table t (x)');
    database.exec("vacuum into '" + target + "/vacuum.db'");`,
  ATTACH: `
    const database = new (require('node:sqlite').DatabaseSync)(':memory:');
    database.exec("attach '" + target + "/attached.db' as other; create table other.t (x)");`,
  'a unix socket that listens': `
    const server = require('net').createServer().listen(target + '/socket');
    await require('events').once(server, 'listening');`,
  'the handle of a pipe that it has': `
    new process.stdout._handle.constructor(1).bind(target + '/handle');`,
  'a unix socket that others listen to': `
    await require('events').once(require('net').connect(service), 'connect')`,
  'HTTP by a unix socket': `
    await new Promise((resolve, reject) =>
      require('http').get({ socketPath: service }, resolve).on('error', reject))`,
  'a report of a fault': `
    Object.assign(process.report, { directory: target, filename: 'report.json' });
    process.report.writeReport();`,
  'a snapshot of the heap': `require('v8').writeHeapSnapshot(target + '/heap')`,
  'a snapshot where memory gets short': `process.chdir(target); require('v8').setHeapSnapshotNearHeapLimit(1)`,
  'a trace of events': `
    process.chdir(target);
    require('trace_events').createTracing({ categories: ['node.perf'] }).enable()`,
  'an inspector': `new (require('inspector').Session)().connect()`,
  'an inspector that listens': `require('inspector').open(0)`,
  'an addon': `process.dlopen({ exports: {} }, target + '/addon.node')`,
  'an engine of OpenSSL': `require('crypto').setEngine(target + '/engine.so')`,
  WASI: `new (require('wasi').WASI)({ version: 'preview1', preopens: { '/': target } })`,
  'a binding': `process.binding('fs')`,
  'a linked binding': `process._linkedBinding('fs')`,
  'a file of variables': `process.loadEnvFile(target + '/../secret')`,
  'a file that it has opened': `
    const fs = require('fs');
    fs.fchmodSync(fs.openSync(__filename, 'r'), 0o777)`,
  'times of a file that it has opened': `
    const fs = require('fs');
    fs.futimesSync(fs.openSync(__filename, 'r'), 1, 1)`,
  'a link': `require('fs').symlinkSync(__filename, target + '/link')`,
  'the priority of another process': `require('os').setPriority(process.ppid, 19)`,
  'another program': `require('child_process').execFileSync('/bin/touch', [target + '/touched'])`,
};

const code = `
const attacks = [${Object.values(attacks)
  .map((text) => `async (target, service) => {${text}\n}`)
  .join()}];
module.exports = async ({ attack, target, service }) => {
  await attacks[attack](target, service);
  return 'it worked';
};`;
const client = `
const http = require('http');
const statusOf = (url) => new Promise((resolve, reject) =>
  http.get(url, ({ statusCode }) => resolve(statusCode)).on('error', reject));
module.exports = async ({ url }) => [await statusOf(url), (await fetch(url)).status];`;
const naan = uniqueNaan();
const caller = runtimeKo({ naan, name: 'caller', engine: 'node', code: { 'src/index.js': client } });
const attacker = runtimeKo({ naan, name: 'attacker', engine: 'node', code: { 'src/index.js': code } });
const { service, home } = await theWorkersService();
await service.add(attacker, caller);
for (const each of [attacker, caller]) await service.reload(each);

await writeFile(join(home, 'secret'), 'SECRET=1');
const others = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
others.listen(join(home, 'others'));
await once(others, 'listening');
after(() => others.close());

/** Undefined of a worker that has ended since: others end beside these. */
function priorityOf(pid: number): number | undefined {
  try {
    return getPriority(pid);
  } catch (thrown) {
    if (String(thrown).includes('ESRCH')) return undefined;
    throw thrown;
  }
}

for (const [attack, name] of Object.keys(attacks).entries()) {
  test(`code of the engine node gets nowhere by ${name}`, async () => {
    const target = join(home, String(attack));
    await mkdir(target);
    const input = { attack, target, service: join(home, 'others') };
    const { status, object } = await service.post(pathOf(attacker), input);
    assert.deepEqual(await readdir(target), [], 'it wrote');
    assert.equal(status, 500, JSON.stringify(object));
    assert.match(
      String(object['Detail']),
      /restricted|not available to knowledge objects|is a native addon|disabled|unsupported|process\.binding|No such built-in module|Cannot read|fs\.read and fs\.write|not a constructor/i,
    );
    const processes = await descendantsOf(service.pid);
    assert.deepEqual(
      processes.map(priorityOf).filter((priority) => priority === constants.priority.PRIORITY_LOW),
      [],
    );
  });
}

test('code of the engine node reaches the network where the operator allows it only, and is told so', async () => {
  const { status, object } = await service.post(pathOf(caller), { url: `${service.url}/kos` });
  assert.equal(status, 500);
  assert.match(String(object['Detail']), /network access is refused .* --allow-network /);
});
