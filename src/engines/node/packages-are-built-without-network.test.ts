import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { TestRegistry } from '../../../runtimes/node/test/registry.ts';
import { inRound } from '../../../test/support/round.ts';
import { findKernel } from '../../confinement/find-kernel.ts';
import type { WallsMode } from '../../confinement/walls.ts';
import { Npm } from './npm.ts';

const registry = await TestRegistry.start();
const root = await mkdtemp(join(tmpdir(), 'kgrid-npm-test-'));
after(async () => {
  await registry[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});
const home = join(root, 'home');
await mkdir(home);
await writeFile(join(home, 'secret'), 'secret');

/** Writes down what it got at. */
const SCRIPT = `
const { connect } = require('node:net');
const { readFileSync, writeFileSync } = require('node:fs');
const told = { ran: true };
const attempt = (name, what) => { try { told[name] = what(); } catch (error) { told[name] = error.code; } };
attempt('read', () => readFileSync(${JSON.stringify(join(home, 'secret'))}, 'utf8'));
attempt('wrote', () => writeFileSync(${JSON.stringify(join(home, 'new'))}, ''));
const end = (how) => { told.network = how; writeFileSync('told.json', JSON.stringify(told)); process.exit(); };
connect(${JSON.stringify(Number(new URL(registry.url).port))}, '127.0.0.1', () => end('connected')).on('error', ({ code }) => end(code));
`;
await registry.publish('tells', '1.0.0', SCRIPT, { scripts: { install: 'node index.js' } });

const unwatched = (): { stop(): Promise<void> } => ({ stop: () => Promise.resolve() });

/** What the script of a package told of, and the names that are left in the folder of the installation. */
async function install(walls: WallsMode, builds: boolean): Promise<{ told: Record<string, unknown>; left: string[] }> {
  const folder = await mkdtemp(join(root, 'staging-'));
  const npm = new Npm(
    {
      installerEnvironment: { PATH: process.env['PATH'] ?? '', HOME: home, ...registry.settings },
      installTimeoutMs: 120_000,
      kernel: await findKernel(walls),
    },
    join(root, 'npm'),
    () => Promise.resolve(),
  );
  await writeFile(join(folder, 'package.json'), JSON.stringify({ dependencies: { tells: '1.0.0' } }));
  const options = {
    'allow-git': 'none',
    'allow-remote': 'none',
    'allow-file': 'none',
    'allow-directory': 'none',
  } as const;
  const sources = { options, environment: {} };
  await npm.fetch(folder, { hasLock: false, sources }, unwatched);
  const told = (): Promise<string> => readFile(join(folder, 'node_modules/tells/told.json'), 'utf8').catch(() => '{}');
  assert.equal(await told(), '{}', 'fetching ran it');
  if (builds) await npm.build(folder, ['tells'], await mkdtemp(join(root, 'home-')), unwatched);
  const text = await told();
  return { told: JSON.parse(text) as Record<string, unknown>, left: (await readdir(folder)).sort() };
}

const LEFT = ['node_modules', 'package-lock.json', 'package.json'];

test('fetching packages runs nothing of them, behind walls and without', async () => {
  // Without walls the next test sees it in every run.
  for (const walls of inRound(['auto'] as const, ['auto', 'off'] as const))
    assert.deepEqual(await install(walls, false), { told: {}, left: LEFT });
});

test('what runs of packages while they are built has no network, and no files but its own', async () => {
  const { told, left } = await install('require', true);
  assert.deepEqual(told, { ran: true, read: 'EACCES', wrote: 'EACCES', network: 'EPERM' });
  assert.deepEqual(left, LEFT);
  // Each of it is there without walls.
  assert.deepEqual((await install('off', true)).told, { ran: true, read: 'secret', network: 'connected' });
});
