/** Copying sets modes and times, which no filter can tell from those of files elsewhere: it works in the own scratch folder. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findKernel } from '../../confinement/find-kernel.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const kernel = await findKernel('require');
const CODES = {
  node: `
import fs from 'node:fs';
import { tmpdir } from 'node:os';
export async function run() {
  const at = (name) => tmpdir() + '/' + name;
  fs.writeFileSync(at('a'), 'text');
  fs.copyFileSync(at('a'), at('b'));
  await fs.promises.copyFile(at('b'), at('c'));
  fs.mkdirSync(at('folder/in'), { recursive: true });
  fs.writeFileSync(at('folder/in/d'), 'text');
  fs.cpSync(at('folder'), at('copy'), { recursive: true });
  await fs.promises.cp(at('folder'), at('again'), { recursive: true, preserveTimestamps: true });
  fs.utimesSync(at('a'), 1, 1);
  return ['b', 'c', 'copy/in/d', 'again/in/d'].map((name) => fs.readFileSync(at(name), 'utf8'));
}`,
  python: `
import os, shutil, tempfile
from pathlib import Path

def run(_):
    home = Path(tempfile.gettempdir())
    (home / "a").write_text("text")
    shutil.copy(home / "a", home / "b")
    shutil.copy2(home / "b", home / "c")
    (home / "folder" / "in").mkdir(parents=True)
    (home / "folder" / "in" / "d").write_text("text")
    shutil.copytree(home / "folder", home / "copy")
    shutil.move(home / "copy", home / "again")
    os.utime(home / "a", (1, 1))
    shutil.make_archive(str(home / "archive"), "gztar", home / "again")
    shutil.unpack_archive(home / "archive.tar.gz", home / "unpacked")
    return [(home / each).read_text() for each in ("b", "c", "again/in/d", "unpacked/in/d")]
`,
};

const HOMES = {
  node: 'import os from "node:os"; export const run = () => os.homedir() === os.tmpdir();',
  python: 'import os, tempfile\ndef run(_): return os.path.expanduser("~") == tempfile.gettempdir()\n',
};

for (const engine of ['node', 'python'] as const) {
  test(`code that asks for the home folder gets the one for temporary files: ${engine}`, async () => {
    await using networked = await networkedPool({ engine, kernel });
    assert.equal(await networked.run('naan/home/v1', HOMES[engine]), true);
  });

  test(`files are copied in the scratch folder: ${engine}`, async () => {
    await using networked = await networkedPool({ engine, kernel });
    assert.deepEqual(await networked.run('naan/copy/v1', CODES[engine]), Array(4).fill('text'));
  });
}
