import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { EngineHost } from '../../../test/conformance/engine-host.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';
import { findKernel } from '../../confinement/find-kernel.ts';

const kernel = await findKernel('require');
const folder = await temporaryFolder();
after(() => folder[Symbol.asyncDispose]());
const given = { cache: folder.path, kernel, addons: ['addons/allowed'] };
const host = new EngineHost(await managedWorkers('node', given));
after(() => host[Symbol.asyncDispose]());

/** A real one: it calls any function of the C library. */
const addon = await readFile(kernel.koffi ?? '');

const activate = (name: string, code: string): Promise<string> => {
  const files = { 'src/index.js': code, 'src/native.node': addon };
  return host.activateAs(`addons/${name}/1.0/run`, { files, function: '' });
};

test('a native addon is loaded where the operator allows it, and what the kernel refuses stays refused', async () => {
  const id = await activate(
    'allowed',
    `const c = require('./native.node').load(null);
     const open = c.func('int open(const char *, int)');
     const getpid = c.func('int getpid()');
     module.exports = (file) => [getpid() === process.pid, open(__filename, 0) > 0, open(file, 0)];`,
  );
  assert.deepEqual(await host.callFromJavascript(id, '/etc/passwd'), [true, true, -1]);
});

test('elsewhere the refusal names the file and the setting, also where a package hides it', async () => {
  const load = "require('./native.node')";
  const why = /src\/native\.node is a native addon, which may not be loaded without --allow-addons addons\/refused/;
  for (const code of [
    `${load}; module.exports = () => 1;`,
    `try { ${load} } catch { throw new Error('it does not work here') }`,
    `import { createRequire } from 'node:module'; createRequire(import.meta.url)('./native.node'); export default () => 1;`,
    `process.dlopen({ exports: {} }, __dirname + '/native.node');`,
  ])
    await assert.rejects(activate('refused', code), (error: Error) => {
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /install scripts/);
      assert.ok(!error.message.includes(folder.path), error.message);
      return true;
    });
  const id = await activate('refused', `try { ${load} } catch {} module.exports = () => ${load};`);
  await assert.rejects(host.callFromJavascript(id, null), why);
});
