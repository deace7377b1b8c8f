/** Knowledge objects that attack: by their code, and by what runs when they are installed. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT } from '../../acceptance/support/service.ts';
import { packageFiles, packageKo } from '../../remote/support/python-package.ts';
import { remoteKo } from '../../remote/support/remote-ko.ts';
import type { Target } from './attempt.ts';
import { outcomesOf } from './outcomes.ts';
import type { Result } from './outcomes.ts';
import type { Attacker, Door } from './services.ts';

const text = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), 'utf8');

/** Answers where it is, and tries what it gets otherwise. */
const PYTHON = `
import __main__, tempfile
import attempt

def run(ways):
    if ways == ["where"]:
        return {"file": __file__, "program": __main__.__file__, "scratch": tempfile.gettempdir()}
    return attempt.attempt(ways)
`;

export const pythonCode: Attacker = {
  engine: 'python',
  async begin(door) {
    const code = { 'src/main.py': PYTHON, 'src/attempt.py': await text('./attempt.py') };
    const ko = remoteKo({ naan: door.naan, name: 'attacker', engine: 'python', code });
    await activated(door, ko);
    return {
      own: (await door.call(ko, ['where'])) as Target['own'],
      outcomes: (ways) =>
        outcomesOf(ways, async (left) => {
          const lines: [string, Result | undefined][] = [];
          for (const [name, each] of Object.entries(left)) lines.push([name, await resultOf(door.call(ko, each))]);
          return lines;
        }),
    };
  },
};

/** Each in a process of its own, which it may end; they may be made where packages are installed. */
const PYTHON_BACKEND = `
import json, os, zipfile
from pathlib import Path
import attempt

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    results = {}
    for name, ways in json.loads(Path("attempts.json").read_text()).items():
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, json.dumps(attempt.attempt(ways)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            results[name] = json.loads(pipe.read() or "null")
        os.wait()
    info = "bmi-1.0.dist-info"
    files = {
        "bmi/__init__.py": "",
        "bmi/api.py": f"import json\\ndef run(_): return json.loads({json.dumps(results)!r})",
        f"{info}/METADATA": "Metadata-Version: 2.1\\nName: bmi\\nVersion: 1.0\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    with zipfile.ZipFile(Path(wheel_directory, "bmi-1.0-py3-none-any.whl"), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"]))
    return "bmi-1.0-py3-none-any.whl"
`;

export const pythonBuild: Attacker = {
  engine: 'python',
  env: { PIP_CONFIG_FILE: '/dev/null', PIP_NO_INDEX: '1' },
  begin: (door) =>
    Promise.resolve({
      own: {
        file: 'backend.py',
        program: join(PROJECT, 'runtimes/python/kgrid_runtime/installer/build.py'),
        scratch: '.',
      },
      outcomes: (ways) =>
        outcomesOf(ways, async (left) => {
          const ko = packageKo(door.naan, 'attacker', {
            ...packageFiles('bmi', '', 'python/'),
            'python/backend.py': PYTHON_BACKEND,
            'python/attempt.py': await text('./attempt.py'),
            'python/attempts.json': JSON.stringify(left),
          });
          await activated(door, ko);
          const results = (await door.call(ko, {})) as Record<string, Result | null>;
          return Object.entries(results).map(([name, result]) => [name, result ?? undefined]);
        }),
    }),
};

async function activated(door: Door, ko: Parameters<Door['activate']>[0]): Promise<void> {
  const reason = await door.activate(ko);
  if (reason !== '') throw new Error(`It is not active: ${reason}`);
}

/** `undefined` where the code ended its process. */
async function resultOf(call: Promise<unknown>): Promise<Result | undefined> {
  try {
    return (await call) as Result;
  } catch (thrown) {
    if (thrown instanceof Error && /ended|killed|signal/i.test(thrown.message)) return undefined;
    throw thrown;
  }
}
