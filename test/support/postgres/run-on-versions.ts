/**
 * `npm run test:long postgres-versions`: what uses a database, on the PostgreSQL of the system, and on the oldest and the newest
 * that the shelf is meant for; with numbers, such as `16 17`, on those in place of them. Options and files given to it go
 * to each `node --test`, in place of what it runs else.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { postgresPrograms } from './install.ts';
import { packagedServer } from './packaged-server.ts';

/** By major version. */
const PACKAGED: Readonly<Record<string, string>> = {
  '14': '14.23.0-beta.17',
  '16': '16.14.0-beta.17',
  '17': '17.10.0-beta.17',
  '18': '18.4.0-beta.17',
};
const OLDEST_AND_NEWEST = ['14', 'of the system', '18'];
const FILES = [
  ...['src/shelf/store/postgres/*.test.ts', 'src/shelf/store/schema-is-its-own.test.ts'],
  ...['src/shelf/store/upgrade/takes-over-tables.test.ts', 'src/fleet/*.test.ts', 'test/fleet/*.test.ts'],
];

const project = resolve(import.meta.dirname, '../../..');
const isVersion = (each: string): boolean => Object.hasOwn(PACKAGED, each);
const asked = process.argv.slice(2).filter(isVersion);
const given = process.argv.slice(2).filter((each) => !isVersion(each));
let failed = 0;
for (const version of asked.length > 0 ? asked : OLDEST_AND_NEWEST) {
  const packaged = PACKAGED[version];
  const programs = packaged === undefined ? postgresPrograms() : packagedServer(packaged);
  const named = spawnSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' });
  if (named.status !== 0) throw new Error(`${programs} does not run: ${named.stderr}`);
  process.stdout.write(`\n${named.stdout.trim()}, of ${programs}\n`);
  const { status } = spawnSync(
    process.execPath,
    ['--test', '--test-concurrency=1', ...(given.length > 0 ? given : FILES)],
    { cwd: project, stdio: 'inherit', env: { ...process.env, TEST_POSTGRES: programs } },
  );
  if (status !== 0) failed++;
}
process.exitCode = Math.min(failed, 1);
