import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { EngineHost } from '../../../test/conformance/engine-host.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';
import { findKernel } from '../../confinement/find-kernel.ts';

const CASES = {
  'CommonJS below a folder of ES modules': {
    above: '{"type": "module"}',
    files: { 'src/index.js': 'module.exports = (x) => [typeof require, x];' },
    result: ['function', 1],
  },
  'ES modules below a folder of CommonJS': {
    above: '{"type": "commonjs"}',
    files: { 'src/index.js': 'import { sep } from "node:path"; export default (x) => [sep, x];' },
    result: ['/', 1],
  },
  'below a package.json that is none': {
    above: 'no JSON',
    files: { 'src/index.js': 'module.exports = (x) => x;' },
    result: 1,
  },
};

for (const [name, { above, files, result }] of Object.entries(CASES)) {
  test(`files are read by the package.json of their knowledge object alone: ${name}`, async () => {
    await using folder = await temporaryFolder();
    await folder.add({ 'package.json': above });
    const cache = join(folder.path, 'shelf/.kgrid/runtimes');
    await using host = new EngineHost(await managedWorkers('node', { cache, kernel: await findKernel('require') }));
    assert.deepEqual(await host.call(await host.activate({ files, function: '' }), 1), result);
  });
}

test('what code and the loader of Node say names no path of the host', async () => {
  await using folder = await temporaryFolder();
  await folder.add({ 'a real folder/is': '' });
  await symlink(join(folder.path, 'a real folder'), join(folder.path, 'linked'));
  const cache = join(folder.path, 'linked/shelf');
  await using host = new EngineHost(await managedWorkers('node', { cache }));
  const files = {
    'src/index.js': `
      const { readFileSync } = require('node:fs');
      module.exports = (what) => ({
        temporary: () => readFileSync(require('node:os').tmpdir() + '/none'),
        url: () => import('./none.mjs'),
      })[what]();`,
  };
  const executor = await host.activate({ files, function: '' });
  for (const what of ['temporary', 'url']) {
    await assert.rejects(host.call(executor, what), (error: Error) => {
      assert.match(error.message, /none/);
      assert.ok(!error.message.includes(folder.path) && !error.message.includes('a%20real'), error.message);
      return true;
    });
  }
  const esm = { 'src/index.js': 'module.exports = 1;', 'package.json': '{"type": "module"}' };
  await assert.rejects(host.activate({ files: esm, function: '' }), (error: Error) => {
    assert.match(error.message, /and 'package.json' contains "type": "module"/);
    return true;
  });
});
