import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestActivator } from './activator.ts';
import { secret, TestRuntime, type Reply } from './runtime.ts';

const code = `
const fs = require('fs');
module.exports = (input) => ({
  env: () => ({ env: process.env, argv: process.argv, execArgv: process.execArgv, cwd: process.cwd() }),
  read: () => fs.readFileSync(input.path, 'utf8').length,
  write: () => fs.writeFileSync(input.path, 'x'),
  own: () => fs.readFileSync('src/index.js', 'utf8').length > 0,
  child: () => require('child_process').execFileSync('/bin/true'),
  execve: () => process.execve('/bin/true', ['/bin/true']),
  thread: () => new (require('worker_threads').Worker)('1', { eval: true }),
  kill: () => process.kill(process.ppid, 'SIGKILL'),
  killGroup: () => process._kill(process.ppid, 9),
  binding: () => process.binding('process_wrap'),
  inspector: () => require('inspector').open(0),
  parent: () => fs.readFileSync('/proc/' + process.ppid + '/environ', 'utf8'),
  global: () => (globalThis.count = (globalThis.count ?? 0) + 1),
  forge: () => { fs.writeSync(3, Buffer.alloc(13, 65)); return new Promise(() => {}); },
  flood: () => { fs.writeSync(3, Buffer.from([255, 255, 255, 255, 4, 1, 0, 0, 0, 0, 0, 0, 0])); return new Promise(() => {}); },
})[input.do]();
`;
const uri = 'isolated/ko/1.0/run';

describe('what the code of a knowledge object can reach', () => {
  let activator: TestActivator;
  let runtime: TestRuntime;
  const run = (input: object): Promise<Reply> => runtime.post(uri, input);
  before(async () => {
    activator = await TestActivator.start();
    runtime = await TestRuntime.start(activator, { KGRID_SOME_PASSWORD: 'hidden', TZ: 'America/Detroit' });
    for (const name of ['ko', 'other']) {
      await runtime.activate({
        uri: `isolated/${name}/1.0/run`,
        ko: `isolated/${name}/v1`,
        files: { 'src/index.js': code },
      });
    }
  });
  after(async () => {
    await runtime[Symbol.asyncDispose]();
    await activator[Symbol.asyncDispose]();
  });

  it('sees no environment of the runtime', async () => {
    const result = (await run({ do: 'env' })).body['result'] as {
      env: Record<string, string>;
      argv: string[];
      execArgv: string[];
      cwd: string;
    };
    const { HOME, TMPDIR, ...env } = result.env;
    assert.deepEqual(env, { NODE_ENV: 'production', TZ: 'America/Detroit' });
    assert.match(String(TMPDIR), /\/scratch-[\w-]+$/);
    assert.equal(HOME, TMPDIR, 'and not that of the runtime');
    assert.deepEqual([result.argv.length, result.execArgv], [1, []]);
    assert.ok(!JSON.stringify(result).includes(secret));
  });

  it('shares nothing with another knowledge object', async () => {
    assert.equal((await run({ do: 'global' })).body['result'], 1);
    assert.equal((await run({ do: 'global' })).body['result'], 2);
    assert.equal((await runtime.post('isolated/other/1.0/run', { do: 'global' })).body['result'], 1);
  });

  it('may do more where the operator allows it', async () => {
    await using open = await TestRuntime.start(activator, { KGRID_NODE_PERMISSIONS: 'false' });
    await open.activate({ uri, ko: 'isolated/ko/v1', files: { 'src/index.js': code } });
    assert.equal((await open.post(uri, { do: 'read', path: '/etc/passwd' })).status, 200);
    assert.equal((await open.post(uri, { do: 'child' })).status, 200);
  });
});
