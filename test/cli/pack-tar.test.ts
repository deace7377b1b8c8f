import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyService } from './empty-service.ts';
import { fromTemplate, kgrid, kgridJson, temporaryFolder } from './kgrid.ts';

interface Packed {
  readonly file: string;
  readonly packageDigest: string;
}

test('pack makes a tar that check and push take, always of the same bytes', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await fromTemplate('javascript', cwd, 'map');
  const [zip, tar] = [
    await kgridJson<Packed>(['pack', 'map'], { cwd }),
    await kgridJson<Packed>(['pack', 'map', '--tar'], { cwd }),
  ];
  assert.deepEqual([tar.json.file, tar.json.packageDigest], ['test-map-v1.0.tar.gz', zip.json.packageDigest]);
  const again = await kgridJson<Packed>(['pack', 'map', '-o', 'other.tgz'], { cwd });
  assert.ok((await readFile(join(cwd, tar.json.file))).equals(await readFile(join(cwd, again.json.file))));
  const checked = await kgrid(['check', tar.json.file], { cwd });
  assert.equal(checked.code, 0, checked.stdout);
  const service = await emptyService();
  const pushed = await kgrid(['push', 'other.tgz'], { cwd, env: { KGRID_URL: service.url } });
  assert.equal(pushed.code, 0, pushed.stdout + pushed.stderr);
  assert.equal((await service.get('/kos/test/map/v1.0')).headers['kgrid-package-digest'], zip.json.packageDigest);
});
