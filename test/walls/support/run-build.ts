/**
 * Tries what comes by standard input where the code of a python package runs that is built:
 * `node run-build.ts <mode> <own>` prints a line for each result.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findPython, PYTHON_PROGRAMS } from '../../../src/engines/python/program.ts';
import { InstallerProcess } from '../../../src/engines/python/installer-process.ts';
import { packageFiles } from '../../runtimes/support/python-package.ts';
import type { Target } from './attempt.ts';
import { kernelOf } from './modes.ts';
import type { Mode } from './modes.ts';
import { isWritable } from './run-in-worker.ts';

const own = JSON.parse(process.argv[3] ?? '') as Target['own'];
const folder = await mkdtemp(join(tmpdir(), 'kgrid-walls-build-'));
const root = join(folder, 'cache/objects/c/package');
/** It runs in a copy of the package. */
const there = { [own.scratch]: '.' };
const builder = join(PYTHON_PROGRAMS, 'kgrid_runtime/installer/build.py');
if (isWritable(builder)) there[own.program] = builder;
let ways = await text(process.stdin);
for (const [path, name] of Object.entries(there)) ways = ways.replaceAll(path, name);
const files = { ...packageFiles('bmi', ''), 'attempts.json': ways };
for (const [path, content] of Object.entries(files)) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), content);
}
for (const name of ['attempt.py', 'backend.py']) await copyFile(new URL(name, import.meta.url), join(root, name));
const python = await findPython({ PATH: process.env['PATH'] ?? '' });
if (typeof python === 'string') throw new Error(python);
const installer = new InstallerProcess({
  python,
  cache: join(folder, 'cache'),
  environment: { PATH: process.env['PATH'] ?? '', PIP_NO_INDEX: '1' },
  sourceBuilds: [],
  limitSeconds: 60,
  limitBytes: 1e8,
  kernel: await kernelOf(process.argv[2] as Mode),
  onWarning: (warning) => void process.stderr.write(`${warning}\n`),
});
try {
  const installed = await installer.install(
    {
      ko: 'a/b',
      key: 'c',
      root,
      requirements: undefined,
      installs: { package: 'bmi', module: 'api', folder: '' },
      network: undefined,
    },
    () => undefined,
  );
  const [packages = ''] = installed.folders;
  process.stdout.write(await readFile(join(packages, 'bmi/results.txt'), 'utf8'));
} finally {
  installer.kill();
  await rm(folder, { recursive: true, force: true });
}
