/** A runtime of our own that does not come up, or says too much: a program of the test stands in its place. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { JsonObject } from '../acceptance/support/client.ts';
import { explode } from '../acceptance/support/folders.ts';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { Companion, wellBehavedKo } from '../hostile/support/companion.ts';
import { footprintOf, MEGABYTE, Peak } from '../hostile/support/footprint.ts';
import { remoteKo } from './support/remote-ko.ts';
import { until } from './support/until.ts';

const PYTHON = execFileSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).trim();
const naan = uniqueNaan();
const well = wellBehavedKo(naan);
const remote = remoteKo({
  naan,
  name: 'remote',
  engine: 'python',
  code: { 'src/main.py': 'def run(n): return n + 1' },
});
const bin = await temporaryFolder();
after(() => bin[Symbol.asyncDispose]());
const [starts, ends] = [join(bin.path, 'starts'), join(bin.path, 'ends')];

/** What `python3` does when it is started as the runtime. */
async function asPython(does: string): Promise<void> {
  await Promise.all([starts, ends].map((path) => writeFile(path, '')));
  const program = join(bin.path, 'python3');
  await writeFile(program, `#!/bin/sh\n[ "$1" = -c ] && exit 0\necho x >> ${starts}\n${does}\n`);
  await chmod(program, 0o755);
}

const start = (shelf?: string): Promise<OwnService> =>
  startService({
    ...(shelf !== undefined && { shelf }),
    args: ['--runtimes', 'python'],
    env: { PATH: `${bin.path}:/usr/bin:/bin` },
  });
const problemOf = async (service: OwnService): Promise<string> => {
  const components = (await service.get('/actuator/health')).object['components'] as Record<string, JsonObject>;
  const { status, details } = components['pythonEngine'] ?? {};
  return `${String(status)} ${String((details as JsonObject)['problem'])}`;
};

test('a runtime that ends again and again is started ever more rarely, says why, and is used once it stays', async () => {
  await asPython('echo "no module of that name in /a/path/of.the/host" >&2; exit 3');
  await using shelf = await temporaryFolder();
  for (const ko of [well, remote]) await explode(ko, shelf.path, ko.name);
  await using service = await start(shelf.path);
  {
    using companion = new Companion(service, well);
    const cause = 'the python runtime ended (exit code 3): no module of that name in …; it is started again';
    await until('health has the cause', async () =>
      (await problemOf(service)) === `DOWN ${cause}` ? true : undefined,
    );
    await until('the endpoint has the cause', async () => {
      const [endpoint] = (await service.endpoints(naan)).filter((each) => each['engine'] === 'python');
      return endpoint?.['status'] === 'LOADED' && String(endpoint['detail']).endsWith(cause) ? true : undefined;
    });
    await service.logged(({ again }) => again === 2000);
    const pauses = service.log.flatMap(({ msg, again }) => (msg === 'a runtime ended' ? [again] : []));
    assert.deepEqual(pauses, [250, 500, 1000, 2000]);
    assert.equal((await readFile(starts, 'utf8')).split('\n').length - 1, 4);
    await companion.assertUndisturbed();
    await asPython(`exec ${PYTHON} "$@"`);
  }
  const answer = await until('it is used', async () => {
    const called = await service.post(pathOf(remote), 1);
    return called.status === 200 ? called : undefined;
  });
  assert.equal(answer.object['result'], 2);
  assert.match(await problemOf(service), /^UP undefined$/);
});

test('a runtime that cannot be started, since too many files are open, is started when there are less', async () => {
  await asPython(`exec ${PYTHON} "$@"`);
  await using service = await start();
  await service.serve(well, remote);
  const runtime = Number((await service.logged(({ msg }) => msg === 'runtime started'))['pid']);
  const setMost = (most: number): unknown =>
    execFileSync('prlimit', ['--pid', String(service.pid), `--nofile=${most}:`]);
  setMost(1);
  process.kill(runtime, 'SIGKILL');
  await service.logged(({ msg, reason }) => msg === 'a runtime ended' && /EMFILE/.test(String(reason)));
  setMost(1000);
  await until('it is used', async () => ((await service.post(pathOf(remote), 1)).status === 200 ? true : undefined));
});

for (const [what, does] of Object.entries({
  'a line without end': 'head -c 700000000 /dev/zero | tr "\\0" x >&2',
  'lines without end': 'yes "$(head -c 100 /dev/zero | tr "\\0" y)" | head -c 300000000 >&2',
})) {
  test(`${what} of a runtime costs neither memory nor time, and little of the log`, async () => {
    await asPython(`${does}; echo x >> ${ends}; exec sleep 60`);
    await using service = await start();
    await service.serve(well);
    const before = await footprintOf(service.pid);
    using companion = new Companion(service, well);
    using peak = new Peak(before, service.pid);
    await until('it has written all', async () => ((await readFile(ends, 'utf8')) === '' ? undefined : true));
    await companion.assertUndisturbed();
    peak.assertWithin({ activator: 100 * MEGABYTE, child: 1200 * MEGABYTE });
    const size = JSON.stringify(service.log).length;
    assert.ok(size < 10 * MEGABYTE, `${size} bytes of log`);
  });
}
