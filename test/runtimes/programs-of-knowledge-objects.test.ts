/** Whether code of the engines `node` and `python` starts programs, at a service that runs it itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { MAY_START_PROGRAMS, theWorkersService } from './support/the-services.ts';

const CODE = {
  node: {
    'src/index.js': `
const { execFileSync, execSync } = require('node:child_process');
exports.run = ({ how }) =>
  how === 'shell' ? execSync('echo out').toString().trim() : execFileSync('/bin/echo', ['out']).toString().trim();`,
  },
  python: {
    'src/main.py': `
import multiprocessing, os, subprocess
def run(given):
    if given["how"] == "shell":
        return subprocess.check_output("echo out", shell=True, text=True).strip()
    if given["how"] == "fork":
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        return "out" if os.waitpid(pid, 0)[1] == 0 else "failed"
    if given["how"] == "pool":
        with multiprocessing.Pool(2) as pool:
            return "".join(pool.map(str.lower, "OUT"))
    return subprocess.check_output(["/bin/echo", "out"], text=True).strip()
`,
  },
} as const;
const ENGINES = ['node', 'python'] as const;

const naan = MAY_START_PROGRAMS;
const { service } = await theWorkersService();

const koOf = (engine: (typeof ENGINES)[number], name: string): Ko =>
  runtimeKo({ naan, name: `${engine}${name}`, engine, code: CODE[engine] });
const kos = ENGINES.flatMap((engine) => ['may', 'none'].map((name) => koOf(engine, name)));
await service.add(...kos);
for (const ko of kos) await service.reload(ko);

for (const engine of ENGINES) {
  const ways = engine === 'python' ? ['program', 'shell', 'fork', 'pool'] : ['program', 'shell'];

  test(`code in ${engine} starts programs where the operator allows it`, async () => {
    for (const how of ways) {
      const { object, text } = await service.post(pathOf(koOf(engine, 'may')), { how });
      assert.equal(object['result'], 'out', `${how}: ${text}`);
    }
  });

  test(`code in ${engine} starts none else, and the answer says what to allow`, async () => {
    for (const how of ways) {
      const { status, object, text } = await service.post(pathOf(koOf(engine, 'none')), { how });
      assert.equal(status, 500, text);
      assert.match(String(object['Detail']), new RegExp(`--allow-processes ${naan}/${engine}none`), how);
    }
  });
}
