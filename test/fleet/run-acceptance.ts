/**
 * `npm run test:long balanced`: the acceptance tests that share one service, against three nodes behind HAProxy, each request on
 * another node than the one before. Files given to it run in place of all.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { PROJECT } from '../acceptance/support/service.ts';
import { startHaproxy } from './support/balancers.ts';
import { startFleet } from './support/fleet.ts';

/** Of one process or one connection, which a balancer spreads over several, or keeps open. */
const OF_ONE_NODE = [
  'globals live as long as the isolate, or one call with isolation: call',
  'info counts requests',
  'calls of the last hour are told for all and for one knowledge object',
  'calls that failed are told with the place of the code and how often',
  'huge headers are 431',
  'broken HTTP is 400',
];

const given = process.argv.slice(2);
const files = globSync('test/acceptance/*.test.ts', { cwd: PROJECT }).filter((file) =>
  readFileSync(`${PROJECT}/${file}`, 'utf8').includes('support/the-service.ts'),
);
await using fleet = await startFleet(3, { args: ['--trust-proxy', '127.0.0.1'] });
await using balancer = await startHaproxy(
  fleet.nodes.map(({ url }) => url),
  'roundrobin',
);
const skipped = OF_ONE_NODE.map((name) => `--test-skip-pattern=${name}`);
const run = spawn(
  process.execPath,
  ['--test', '--test-concurrency=1', ...skipped, ...(given.length > 0 ? given : files.sort())],
  {
    cwd: PROJECT,
    stdio: 'inherit',
    env: { ...process.env, ACCEPTANCE_URL: balancer.url },
  },
);
const [code] = (await once(run, 'exit')) as [number | null];
process.exitCode = code ?? 1;
