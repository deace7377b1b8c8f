/** The image is built, and does its work with nothing but the shelf and /tmp to write to, without capabilities, as any user. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { EXAMPLES } from '../acceptance/support/examples.ts';
import { clientOf } from '../acceptance/support/knowledge-grid.ts';
import { PROJECT } from '../acceptance/support/service.ts';
import { assertWorkedExamples } from '../acceptance/support/worked-examples.ts';
import { freePort } from '../fleet/support/helper-process.ts';
import { imageFiles } from './support/build-context.ts';
import { ownAuthorities } from './support/own-authorities.ts';
import { BASE, startPodman } from './support/podman.ts';
import type { Podman } from './support/podman.ts';

const IMAGE = 'localhost/kgrid-activator';
const COMMIT = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: PROJECT, encoding: 'utf8' }).trim();
/** As OpenShift gives them out: a user that /etc/passwd does not know, in the group 0. */
const ANY_USER = '1000650000:0';
const CONFINED = [
  ...['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['--user', ANY_USER, '--network', 'host', '--pull', 'never'],
];
const ISOLATED = ['--format', 'docker', '--isolation', 'chroot', '--network', 'host', '--pull-never', '--no-cache'];
/** One for each engine, by their ids with the API version. */
const BY_ENGINE = {
  javascript: ['nephrology-ckdepi-v2.0', 'nephrology/ckdepi/2.0'],
  resource: ['nephrology-ckdcategories-v1.0', 'nephrology/ckdcategories/1.0'],
  node: ['nephrology-aki-v1.0', 'nephrology/aki/1.0'],
  python: ['biostatistics-kaplanmeier-v1.0', 'biostatistics/kaplanmeier/1.0'],
} as const;
/** Its package is built. */
const BUILT = ['fib4-index', 'kgrid/fib4.index/1.0'] as const;
const SYSTEM_SERVICE = 'test/image/support/system-service.dockerfile';
/** Where packages come from, where this machine says so. */
const INDEXES = ['NPM_CONFIG_REGISTRY', 'PIP_INDEX_URL'].filter((name) => process.env[name] !== undefined);

let podman: Podman;
/** As they are when the build begins. */
const expectedFiles = [...imageFiles().values()].map((file) => `./${file}`).sort();
before(async () => {
  podman = await startPodman();
  const given = { BASE, KGRID_BUILD_COMMIT: COMMIT, CA_CERTIFICATES: ownAuthorities() };
  const args = Object.entries(given).map(([name, value]) => `--build-arg=${name}=${value}`);
  const index = INDEXES.includes('NPM_CONFIG_REGISTRY') ? ['--build-arg=NPM_CONFIG_REGISTRY'] : [];
  process.stderr.write('building the image, which takes some minutes\n');
  await podman.run('build', ...ISOLATED, ...args, ...index, '--tag', IMAGE, PROJECT);
});
after(() => podman[Symbol.asyncDispose]());

const inImage = (...command: string[]): Promise<string> =>
  podman.run(
    'run',
    '--rm',
    '--no-healthcheck',
    ...CONFINED,
    '--entrypoint',
    command[0] ?? '',
    IMAGE,
    ...command.slice(1),
  );

test('it holds the files that the test of every run counts on, one Node, and no more rights than its user needs', async () => {
  const files = await inImage('find', '.', '-path', './node_modules', '-prune', '-o', '-type', 'f', '-print');
  assert.deepEqual(files.trim().split('\n').sort(), expectedFiles);
  const nodes = await inImage('sh', '-c', 'find / -xdev -name node -type f -size +20M 2>/dev/null; true');
  assert.equal(nodes, '/usr/local/bin/node\n');
  await assert.rejects(inImage('touch', '/app/changed'), /Read-only file system/);
});

test('its labels, its user and its signal are those of the Dockerfile', async () => {
  const [image] = JSON.parse(await podman.run('image', 'inspect', IMAGE)) as {
    Config: { User: string; StopSignal: string; Labels: Record<string, string> };
  }[];
  assert.equal(image?.Config.User, '10001');
  assert.equal(image.Config.StopSignal, 'SIGTERM');
  assert.equal(image.Config.Labels['org.opencontainers.image.revision'], COMMIT);
  assert.equal(image.Config.Labels['org.opencontainers.image.licenses'], 'Apache-2.0');
});

test('kgrid is on its path, knows its version, and makes a knowledge object that passes its tests', async () => {
  const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { version: string };
  assert.equal(await inImage('kgrid', '--version'), `${version}+${COMMIT.slice(0, 12)}\n`);
  for (const engine of ['javascript', 'python'])
    await inImage('sh', '-c', `kgrid create --engine ${engine} /tmp/my-model && kgrid test /tmp/my-model`);
});

test('the service demands its confinement, and runs a knowledge object of each engine', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folders = Object.values(BY_ENGINE).map(([folder]) => `/examples/${folder}`);
  const settings = {
    KGRID_HOST: '127.0.0.1',
    KGRID_PORT: String(port),
    KGRID_USER: 'ann',
    KGRID_PASSWORD: 'a long one',
  };
  const env = [...Object.entries(settings).map(([name, value]) => `${name}=${value}`), ...INDEXES];
  const { ended } = await podman.start(
    /"event":"ready"/,
    ...['run', '--name', 'activator', ...CONFINED, '--volume', 'shelf:/shelf', '--volume', `${EXAMPLES}:/examples:ro`],
    ...[...env.flatMap((each) => ['--env', each]), IMAGE, '--walls', 'require'],
  );
  await podman.run('exec', 'activator', 'kgrid', 'push', '--url', url, '--user', 'ann', ...folders);
  const service = clientOf(url, 'ann:a long one');
  for (const [folder, id] of Object.values(BY_ENGINE))
    assert.ok((await assertWorkedExamples(service, join(EXAMPLES, folder), id)) > 0);
  const { components } = (await service.get('/actuator/health')).object as {
    components: { walls: { status: string } };
  };
  assert.equal(components.walls.status, 'UP');
  await podman.run('healthcheck', 'run', 'activator');
  await podman.run('stop', '--time', '60', 'activator');
  assert.equal(await ended, 0);
});

test('systemd starts the unit as confined as it says, and the service does all its work in that', async () => {
  const port = await freePort();
  const context = join(PROJECT, 'deploy/systemd');
  const file = ['--file', join(PROJECT, SYSTEM_SERVICE), `--build-arg=PORT=${port}`];
  await podman.run('build', ...ISOLATED, ...file, '--tag', 'localhost/kgrid-systemd', context);
  const volume = ['--volume', `${EXAMPLES}:/examples:ro`];
  const own = ['--privileged', '--systemd', 'always', '--network', 'host', '--no-healthcheck', '--pull', 'never'];
  await podman.run('run', '--detach', '--name', 'systemd', ...own, ...volume, 'localhost/kgrid-systemd');
  const shell = (script: string): Promise<string> => podman.run('exec', 'systemd', 'sh', '-c', script);
  await shell(
    `until systemctl is-system-running --wait 2>/dev/null | grep -qE 'running|degraded'; do sleep 1; done
     journalctl --follow --lines all --unit kgrid-activator --output cat | grep -m1 -E '"event":"ready"|Failed with result'`,
  );
  await shell('systemd-analyze security --threshold=40 kgrid-activator');
  assert.match(
    await shell('cat /proc/$(systemctl show --property MainPID --value kgrid-activator)/status'),
    /^CapEff:\s0{16}$[^]*^NoNewPrivs:\s1$/m,
  );
  const served = [...Object.values(BY_ENGINE), BUILT];
  const url = `http://127.0.0.1:${port}`;
  const folders = served.map(([folder]) => `/examples/${folder}`).join(' ');
  await shell(`KGRID_PASSWORD='a long one' kgrid push --no-test --url ${url} --user ann ${folders}`);
  const service = clientOf(url, 'ann:a long one');
  for (const [folder, id] of served)
    assert.ok((await assertWorkedExamples(service, join(EXAMPLES, folder), id)) > 0, id);
});
