/** The health of an engine says DOWN while its own workers cannot run, with the reason. */
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { EngineHost } from '../../../test/conformance/engine-host.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { managedWorkers } from '../../../test/conformance/workers-host.ts';

const CODES = {
  node: { files: { 'src/main.js': 'exports.run = (input) => input;' }, function: 'run' },
  python: { files: { 'src/main.py': 'def run(given):\n    return given\n' }, function: 'run' },
};

for (const name of ['node', 'python'] as const)
  test(`workers that cannot be opened are DOWN until they can: ${name}`, async () => {
    await using folder = await temporaryFolder();
    const cache = join(folder.path, 'cache');
    await writeFile(cache, 'no folder');
    await using host = new EngineHost(await managedWorkers(name, { cache }));
    const { engine } = host;
    assert.equal(engine.health().status, 'UP');
    await assert.rejects(host.activate(CODES[name]), { name: 'ActivationFailure' });
    const { status, details } = engine.health();
    assert.deepEqual([status, details['up']], ['DOWN', 0]);
    assert.match(String(details['problem']), /EEXIST|ENOTDIR/);
    assert.ok(!String(details['problem']).includes(folder.path));
    await rm(cache);
    await mkdir(cache);
    await host.activate(CODES[name]);
    assert.equal(engine.health().status, 'UP');
  });
