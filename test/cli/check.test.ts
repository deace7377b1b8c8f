/** What `check` says beside the mistakes of `breaking.test.ts`. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { edit, fromTemplate, kgrid, temporaryFolder } from './kgrid.ts';

test('code that was not tried is no silent success', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await fromTemplate('python', cwd, 'model');
  const foreign = await fromTemplate('javascript', cwd, 'foreign');
  await edit(join(foreign, 'deployment.yaml'), 'engine: javascript', 'engine: julia');
  const { code, stdout } = await kgrid(['check', 'model', 'foreign'], { cwd });
  assert.equal(code, 0);
  assert.deepEqual(
    stdout.split('\n').filter((line) => line.startsWith('test/')),
    [
      'test/model/v1.0: no problems, 3 worked examples not run (the code of engine python was not tried: --run does)',
      'test/foreign/v1.0: no problems, 1 warning, 3 worked examples not run (the code of engine julia was not tried: it is not available here)',
    ],
  );
});
