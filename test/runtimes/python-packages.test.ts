import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { packageFiles, packageKo } from './support/python-package.ts';
import { runtimeKo } from './support/runtime-ko.ts';
import { until } from './support/until.ts';
import { longTest } from '../support/round.ts';

/** Prints the bytes of a wheel. */
const WHEEL = `import io, sys, zipfile
data = io.BytesIO()
with zipfile.ZipFile(data, "w") as wheel:
    wheel.writestr("lib.py", "value = 7")
    wheel.writestr("lib-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: lib\\nVersion: 1.0\\n")
    wheel.writestr("lib-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("lib-1.0.dist-info/RECORD", "")
sys.stdout.buffer.write(data.getvalue())`;

const naan = uniqueNaan();
const shelf = await temporaryFolder();

const start = (env: Readonly<Record<string, string>>): Promise<OwnService> =>
  startService({
    shelf: shelf.path,
    args: ['--runtimes', 'python', '--allow-source-builds', `${naan}/permitted`],
    env: { PIP_CONFIG_FILE: '/dev/null', PIP_NO_INDEX: '1', PIP_FIND_LINKS: shelf.path, ...env },
  });

const service = await start({});
after(async () => {
  await service[Symbol.asyncDispose]();
  await shelf[Symbol.asyncDispose]();
});

async function decided({ name }: Ko, at = service): Promise<string> {
  return until(
    `${name} is decided`,
    async () => {
      const { status, detail = '' } = (await at.get(`/endpoints/${naan}/${name}/1.0/run`)).object;
      return status === 'LOADED' ? undefined : `${String(status)} ${String(detail)}`;
    },
    120_000,
  );
}

const code = 'def run(patient):\n    return round(patient["weight"] / patient["height"] ** 2, 1)\n';
const patient = { weight: 70, height: 1.75 };

longTest('what is wrong with a package is the detail of its endpoint, and leaves nothing behind', async () => {
  const missing = packageFiles('bmi', code, 'python/');
  delete missing['python/pyproject.toml'];
  const kos: [ko: Ko, detail: RegExp][] = [
    [
      packageKo(naan, 'stdlib', packageFiles('json', code, 'python/'), 'json'),
      / The package json has the name of a mod/,
    ],
    [
      packageKo(naan, 'noproject', missing),
      /^FAILED_TO_ACTIVATE python\/deployment\.yaml line \d+: \/run names a package/,
    ],
    [
      packageKo(naan, 'broken', {
        ...packageFiles('bmi', code, 'python/'),
        'python/backend.py': 'raise ValueError("x")',
      }),
      / Building the package failed: its build backend backend cannot be loaded: x$/,
    ],
    [
      packageKo(naan, 'nobackend', { 'python/pyproject.toml': '[project]\nname = "bmi"\nversion = "1"\n' }),
      / Fetching the build backend failed: .*No matching distribution found for setuptools>=40\.8\.0$/,
    ],
  ];
  await service.add(...kos.map(([ko]) => ko));
  await Promise.all(kos.map(([ko]) => service.reload(ko)));
  for (const [ko, detail] of kos) assert.match(await decided(ko), detail);
  const cache = join(shelf.path, '.kgrid/runtimes/python');
  assert.deepEqual(await readdir(join(cache, 'installing')), []);
  for (const [{ id }] of kos) await service.delete(`/kos/${id}`);
});

longTest('dependencies are built from sources where --allow-source-builds names the knowledge object', async () => {
  const source = Object.entries(packageFiles('lib', 'value = 7\n', 'parts/lib/'));
  const files = {
    'src/main.py': 'import lib.api\ndef run(x): return lib.api.value',
    'requirements.txt': './parts/lib\n',
  };
  const [permitted, refused] = ['permitted', 'refused'].map((name) =>
    runtimeKo({ naan, name, engine: 'python', code: { ...files, ...Object.fromEntries(source) } }),
  ) as [Ko, Ko];
  await service.add(permitted, refused);
  await Promise.all([permitted, refused].map((ko) => service.reload(ko)));
  assert.equal(await decided(permitted), 'ACTIVATED ');
  assert.equal((await service.post(pathOf(permitted), {})).object['result'], 7);
  assert.match(await decided(refused), new RegExp(`; --allow-source-builds ${naan}/refused permits that$`));
  for (const { id } of [permitted, refused]) await service.delete(`/kos/${id}`);
});

test('a package is installed, called, and there again after a restart without pip', async () => {
  const ko = packageKo(naan, 'bmi', packageFiles('bmi', code, 'python/'));
  const call = async (at: OwnService): Promise<unknown> => {
    assert.equal(await decided(ko, at), 'ACTIVATED ');
    return (await at.post(pathOf(ko), patient)).object['result'];
  };
  await service.add(ko);
  await service.reload(ko);
  assert.equal(await call(service), 22.9);
  await service.stop();
  // What pip would need is gone.
  await using again = await start({ PIP_FIND_LINKS: '/nonexistent', PIP_REQUIRE_VIRTUALENV: '1' });
  assert.equal(await call(again), 22.9);
});

test('packages come from hosts that --allow-network names for the knowledge object, and from no other', async () => {
  const asked: string[] = [];
  const wheel = execFileSync('python3', ['-c', WHEEL]);
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.end(wheel);
  }).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const file = 'lib-1.0-py3-none-any.whl';
    const code = {
      'src/main.py': 'import lib\ndef run(x): return lib.value',
      'requirements.txt': `lib @ http://127.0.0.1:${port}/${file}\n`,
    };
    const [named, unnamed] = ['named', 'unnamed'].map((name) => runtimeKo({ naan, name, engine: 'python', code })) as [
      Ko,
      Ko,
    ];
    await service.stop();
    await using again = await start({ KGRID_ALLOW_NETWORK: `${naan}/named=127.0.0.1:${port}`, no_proxy: '127.0.0.1' });
    await again.add(named, unnamed);
    await Promise.all([named, unnamed].map((ko) => again.reload(ko)));
    const refused = await decided(unnamed, again);
    assert.match(refused, / 127\.0\.0\.1 is no host from which packages are fetched; .*=127\.0\.0\.1\)$/);
    assert.equal(await decided(named, again), 'ACTIVATED ');
    assert.equal((await again.post(pathOf(named), {})).object['result'], 7);
    // Once, for the one.
    assert.deepEqual(asked, [`/${file}`]);
  } finally {
    server.close();
  }
});
