/**
 * Tries what comes by standard input in an install script that npm runs: `node run-npm.ts <mode> <own>` prints a line for
 * each result.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Npm } from '../../../src/engines/node/npm.ts';
import type { Target } from './attempt.ts';
import { koffiPath } from './koffi.ts';
import { kernelOf } from './modes.ts';
import type { Mode } from './modes.ts';

const own = JSON.parse(process.argv[3] ?? '') as Target['own'];
const folder = await mkdtemp(join(tmpdir(), 'kgrid-walls-npm-'));
const installed = join(folder, 'node_modules/attacker');
await mkdir(installed, { recursive: true });
const files = {
  '../../package.json': { private: true, dependencies: { attacker: '1.0.0' } },
  'package.json': { name: 'attacker', version: '1.0.0', scripts: { install: 'node install.cjs' } },
};
for (const [path, content] of Object.entries(files)) await writeFile(join(installed, path), JSON.stringify(content));
const ways = (await text(process.stdin)).replaceAll(own.scratch, '.');
await writeFile(join(installed, 'attempts.json'), ways);
for (const name of ['install.cjs', 'bare.mjs', 'attempt.mjs'])
  await copyFile(new URL(name, import.meta.url), join(installed, name));
await copyFile(koffiPath, join(installed, 'koffi.node'));
const npm = new Npm(
  {
    installerEnvironment: { PATH: process.env['PATH'] ?? '' },
    installTimeoutMs: 60_000,
    kernel: await kernelOf(process.argv[2] as Mode),
  },
  join(folder, 'cache'),
  () => Promise.resolve(),
);
try {
  const home = join(folder, 'home');
  await mkdir(home);
  await npm.build(folder, ['attacker'], home, () => ({ stop: () => Promise.resolve() }));
  process.stdout.write(await readFile(join(installed, 'results.txt'), 'utf8'));
} finally {
  npm.kill();
  await rm(folder, { recursive: true, force: true });
}
