/**
 * `npm run test:postgres-versions`: what uses a database, on the PostgreSQL of the system, and on the oldest and the newest
 * that the shelf is meant for. Options and files given to it go to each `node --test`, in place of what it runs else.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { postgresPrograms } from './install.ts';
import { packagedServer } from './packaged-server.ts';

const OLDEST = '14.23.0-beta.17';
const NEWEST = '18.4.0-beta.17';
const FILES = ['src/shelf/postgres/*.test.ts', 'src/fleet/*.test.ts', 'test/fleet/*.test.ts'];

const project = resolve(import.meta.dirname, '../../..');
const given = process.argv.slice(2);
let failed = 0;
for (const programs of [packagedServer(OLDEST), postgresPrograms(), packagedServer(NEWEST)]) {
  const asked = spawnSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' });
  if (asked.status !== 0) throw new Error(`${programs} does not run: ${asked.stderr}`);
  process.stdout.write(`\n${asked.stdout.trim()}, of ${programs}\n`);
  const { status } = spawnSync(
    process.execPath,
    ['--test', '--test-concurrency=1', ...(given.length > 0 ? given : FILES)],
    { cwd: project, stdio: 'inherit', env: { ...process.env, TEST_POSTGRES: programs } },
  );
  if (status !== 0) failed++;
}
process.exitCode = Math.min(failed, 1);
