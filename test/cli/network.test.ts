/** What `check` says of the network that code asks for, and what it lets code reach. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { edit, fromTemplate, kgrid, kgridJson, temporaryFolder } from './kgrid.ts';

test('what the code asks for of the network is shown with the option that allows it', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('node', folder.path, 'asks');
  await edit(join(ko, 'deployment.yaml'), 'engine: node', 'engine: node\n    network: [api.example, "[::1]:5432"]');
  const { stdout } = await kgrid(['check', ko]);
  assert.match(
    stdout,
    /^ {2}asks for api\.example:443, \[::1\]:5432, which is refused without --allow-network (\S+)=api\.example:443 --allow-network \1=\[::1\]:5432$/m,
  );
  const { json } = await kgridJson<{ kos: { network: string[]; findings: unknown[] }[] }>(['check', ko]);
  assert.deepEqual(json.kos[0]?.network, ['api.example:443', '[::1]:5432']);
  assert.deepEqual(json.kos[0]?.findings, []);
});

test('code is tried with what the variables of an activator allow it', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('node', folder.path, 'asks');
  await edit(
    join(ko, 'src/index.js'),
    /^/,
    "if (process.env.HTTPS_PROXY === undefined) throw new Error('there is no proxy');\n",
  );
  const check = (env: Record<string, string>): Promise<{ code: number | null; stdout: string }> =>
    kgrid(['check', ko, '--run'], { env });
  const without = await check({});
  assert.match(without.stdout, /there is no proxy/);
  const allowed = await check({ KGRID_ALLOW_NETWORK: 'test/asks=api.example:443' });
  assert.doesNotMatch(allowed.stdout, /there is no proxy/);
});
