import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findKernel } from '../../confinement/find-kernel.ts';
import { launchOf } from '../../confinement/launch.ts';
import { findPython, PYTHON_PROGRAMS } from './program.ts';
import { installerFolders, installerWalls } from './confinement.ts';

const ATTEMPTS = `import json, os, socket, subprocess, sys
def attempt(work):
    try: work()
    except OSError as error: return type(error).__name__
    return "done"
def write(path):
    with open(path, "w") as file: file.write("x")
    os.utime(path, (1, 2))
    assert os.stat(path).st_mtime == 2
cache, programs = sys.argv[1:]
print(json.dumps({
    "its folders": [attempt(lambda name=name: write(f"{cache}/{name}/x")) for name in ("installing", "installs")],
    "its cache": attempt(lambda: write(f"{cache}/objects/x")),
    "its program": attempt(lambda: write(f"{programs}/kgrid_runtime/sitecustomize.py")),
    "elsewhere": attempt(lambda: write(f"{cache}/../x")),
    "reads objects": attempt(lambda: os.listdir(f"{cache}/objects")),
    "reads elsewhere": attempt(lambda: os.listdir(f"{cache}/..")),
    "network": attempt(lambda: socket.create_connection(("127.0.0.1", 9))),
    "programs": attempt(lambda: subprocess.run(["/bin/true"])),
}))`;

test('the installer of python packages writes in its two folders, connects nowhere and starts nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kgrid-installer-'));
  try {
    const cache = join(folder, 'cache');
    for (const each of [...installerFolders(cache), join(cache, 'objects')]) mkdirSync(each, { recursive: true });
    const python = await findPython({ PATH: process.env['PATH'] ?? '' });
    assert.ok(typeof python !== 'string', JSON.stringify(python));
    const command = { program: python.program, args: ['-c', ATTEMPTS, cache, PYTHON_PROGRAMS], env: {} };
    const kernel = await findKernel('require');
    const launched = launchOf(command, installerWalls(python, PYTHON_PROGRAMS, cache), kernel, 0);
    assert.ok(launched !== undefined);
    const { stdout, stderr } = spawnSync(launched.program, launched.args, { env: launched.env, encoding: 'utf8' });
    assert.deepEqual(
      JSON.parse(stdout),
      {
        'its folders': ['done', 'done'],
        'its cache': 'PermissionError',
        'its program': 'PermissionError',
        elsewhere: 'PermissionError',
        'reads objects': 'done',
        'reads elsewhere': 'PermissionError',
        network: 'PermissionError',
        programs: 'PermissionError',
      },
      stderr,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
