import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { inRound } from '../../../test/support/round.ts';
import { PYTHON_PROGRAMS } from './program.ts';
import { failureOf, pythonCode } from '../../../test/support/python/python-code.ts';
import type { PythonCode } from '../../../test/support/python/python-code.ts';

for (const walls of ['auto', 'off'] as const)
  describe(`code of the engine python in workers of the service, walls ${walls}`, () => {
    let python: PythonCode;
    const activate: PythonCode['activate'] = (...all) => python.activate(...all);
    const call: PythonCode['call'] = (...all) => python.call(...all);

    before(async () => {
      python = await pythonCode(walls);
    });

    after(() => python[Symbol.asyncDispose]());

    it('runs, with imports by path and beside the entry, in the folder of the knowledge object', async () => {
      const endpoint = await activate({
        'src/main.py':
          'import os\nimport helper\nfrom data.more import two\ndef main(v):\n' +
          '    return [helper.one, two, v, open("data/text.txt").read(), os.environ["HOME"] == os.environ["TMPDIR"]]\n',
        'src/helper.py': 'one = 1\n',
        'data/more.py': 'two = 2\n',
        'data/text.txt': 'text',
      });
      assert.deepEqual(await call(endpoint, { a: 'ü' }), [1, 2, { a: 'ü' }, 'text', true]);
      endpoint.release();
    });

    it('has the variables that numeric libraries go by, and no other of the service', async () => {
      const endpoint = await activate({
        'src/main.py': 'import os\ndef main(names):\n    return [os.environ.get(name) for name in names]\n',
      });
      const names = ['OPENBLAS_CORETYPE', 'OMP_NUM_THREADS', 'KGRID_PASSWORD'];
      assert.deepEqual(await call(endpoint, names), ['Haswell', '1', null]);
      endpoint.release();
    });

    it('ends a call that hangs, and runs those beside it', async () => {
      const endpoint = await activate({
        'src/main.py':
          'import time\ndef main(v):\n    while v == "spin":\n        pass\n    time.sleep(v)\n    return v\n',
      });
      assert.equal(await call(endpoint, 0), 0);
      const hanging = failureOf(call(endpoint, 'spin', 800));
      assert.equal(await call(endpoint, 0.01), 0.01);
      assert.equal((await hanging).message, 'The call passed its time limit of 0.8 s');
      assert.equal(await call(endpoint, 0.01), 0.01);
      endpoint.release();
    });

    // What fetches and builds is the same program without walls.
    if (walls === inRound('off', undefined)) return;

    it('installs what a requirements.txt names, once', async () => {
      const wheel = `make_wheel(Path(${JSON.stringify(join(python.folder, 'wheels'))}), "lib", "1.0", {"lib.py": "name = 'lib'"})`;
      execFileSync(
        'python3',
        ['-c', `from pathlib import Path\nfrom tests.harness.wheels import make_wheel\n${wheel}`],
        {
          cwd: PYTHON_PROGRAMS,
        },
      );
      const files = { 'src/main.py': 'import lib\ndef main(v):\n    return lib.name\n', 'requirements.txt': 'lib\n' };
      const stages: string[] = [];
      if (inRound(false, true)) {
        const refused = await failureOf(activate({ ...files, 'requirements.txt': 'nothing-of-that-name\n' }));
        assert.match(refused.message, /^Installing dependencies failed: .*nothing-of-that-name/);
      }
      const endpoint = await activate(files, {}, (stage) => stages.push(stage));
      assert.ok(stages.includes('installing dependencies'), stages.join(', '));
      assert.equal(await call(endpoint, 0), 'lib');
      stages.length = 0;
      const again = await activate(files, {}, (stage) => stages.push(stage));
      assert.ok(!stages.some((stage) => stage.startsWith('installing')), stages.join(', '));
      assert.equal(await call(again, 0), 'lib');
    });
  });
