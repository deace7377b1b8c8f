import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { inRound } from '../../../test/support/round.ts';
import { PYTHON_PROGRAMS } from './program.ts';
import { failureOf, pythonCode } from './support/python-code.ts';
import type { PythonCode } from './support/python-code.ts';

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

    it('does not mix what lies beside the entries of one knowledge object', async () => {
      const files = {
        'one/main.py': 'import helper\ndef main(v):\n    return helper.name\n',
        'one/helper.py': 'name = "one"\n',
        'two/main.py': 'import helper\ndef main(v):\n    return helper.name\n',
        'two/helper.py': 'name = "two"\n',
      };
      const same = { ko: 'test/python/both', checksum: 'both' };
      const one = await activate(files, { ...same, entry: 'one/main.py' });
      const two = await activate(files, { ...same, entry: 'two/main.py' });
      assert.deepEqual([await call(one, 0), await call(two, 0)], ['one', 'two']);
      one.release();
      two.release();
    });

    it('says what failed, where, and whose fault it is', async () => {
      const endpoint = await activate({
        'src/main.py':
          'from kgrid_python_runtime import InvalidInputError\ndef main(v):\n    if v == "nan":\n' +
          '        return {"a": [float("nan")]}\n    if v == "bad":\n        raise InvalidInputError("no age", status=400)\n' +
          '    print("here", v)\n    raise ValueError("deep")\n',
      });
      const thrown = await failureOf(call(endpoint, 'x'));
      assert.deepEqual(
        [thrown.kind, thrown.message, thrown.place],
        ['thrown', 'ValueError: deep', { file: 'src/main.py', line: 8 }],
      );
      const invalid = await failureOf(call(endpoint, 'bad'));
      assert.deepEqual([invalid.kind, invalid.status, invalid.message], ['invalid', 400, 'no age']);
      const odd = await failureOf(call(endpoint, 'nan'));
      assert.deepEqual([odd.kind, odd.message], ['unwritable', 'the result holds NaN at result.a[0]']);
      assert.ok(python.printed.includes('stdout: here x'), python.printed.join('\n'));
      assert.ok(python.printed.some((line) => line.startsWith('stderr: src/main.py line 8 in main > ValueError')));
      endpoint.release();
    });

    it('calls others and says what is said of them', async () => {
      const endpoint = await activate({
        'src/main.py':
          'from kgrid_python_runtime.context import Context, ExecutionError\ndef main(v):\n' +
          '    try:\n        Context().get_executor_by_id("a/b/1.0/none")(1)\n    except ExecutionError as error:\n' +
          '        said = str(error)\n    return [Context().get_executor_by_id("a/b/1.0/run")(v), said]\n',
      });
      assert.deepEqual(await call(endpoint, 7), [{ was: 7 }, 'there is no a/b/1.0/none']);
      // Each of them waits for the others' places.
      const many = await Promise.all(Array.from({ length: 40 }, (_, i) => call(endpoint, i)));
      assert.deepEqual(
        many.map((each) => (each as [{ was: number }])[0].was),
        Array.from({ length: 40 }, (_, i) => i),
      );
      endpoint.release();
    });

    it('puts another worker in the place of one whose memory is used up', async () => {
      const endpoint = await activate({
        'src/main.py':
          'import os\nkept = []\ndef main(v):\n    if v:\n        kept.append(bytes(10**10))\n    return os.getpid()\n',
      });
      const pid = await call(endpoint, 0);
      const { kind, message } = await failureOf(call(endpoint, 1));
      assert.deepEqual([kind, message], ['memory', 'MemoryError: the knowledge object passed its memory limit']);
      assert.notEqual(await call(endpoint, 0), pid);
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

    it('builds and runs a package', async () => {
      const endpoint = await activate(
        {
          'pkg/pyproject.toml': '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
          'pkg/backend.py': BACKEND,
          'pkg/bmi/__init__.py': '',
          'pkg/bmi/api.py': 'def main(v):\n    return [__name__, v]\n',
        },
        { entry: 'pkg/pyproject.toml', installs: { package: 'bmi', module: 'api', folder: 'pkg' } },
      );
      assert.deepEqual(await call(endpoint, 1), ['bmi.api', 1]);
      const bad = await failureOf(
        activate(
          { 'pkg/pyproject.toml': '' },
          { entry: 'pkg/pyproject.toml', installs: { package: 'json', folder: 'pkg' } },
        ),
      );
      assert.match(bad.message, /has the name of a module of the standard library/);
      assert.ok(
        existsSync(join(python.folder, 'installs')) && readdirSync(join(python.folder, 'installing')).length === 0,
      );
      endpoint.release();
    });
  });

/** A backend that needs nothing. */
const BACKEND = `
import zipfile
from pathlib import Path
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(Path(wheel_directory, "bmi-1.0-py3-none-any.whl"), "w") as wheel:
        for path in Path("bmi").glob("*.py"):
            wheel.writestr(str(path), path.read_text())
        wheel.writestr("bmi-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: bmi\\nVersion: 1.0\\n")
        wheel.writestr("bmi-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("bmi-1.0.dist-info/RECORD", "")
    return "bmi-1.0-py3-none-any.whl"
`;
