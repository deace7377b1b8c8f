import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyService } from './empty-service.ts';
import { edit, fromTemplate, kgrid, kgridJson, temporaryFolder } from './kgrid.ts';

test('push takes a folder of zips, and with --keep-going leaves out what cannot be pushed and pushes the rest', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await mkdir(join(cwd, 'zips'));
  for (const name of ['one', 'two', 'three']) {
    const ko = await fromTemplate('javascript', cwd, name);
    if (name === 'two') await edit(join(ko, 'src/index.js'), 'const mean', 'const const mean');
    await kgrid(['pack', name, '-o', `zips/${name}.zip`], { cwd });
  }
  await writeFile(join(cwd, 'zips/torn.zip'), 'no zip');
  const service = await emptyService();
  const options = { cwd, env: { KGRID_URL: service.url } };
  const stopped = await kgrid(['push', 'zips'], options);
  assert.deepEqual([stopped.code, (await service.get('/kos')).list.length], [1, 0]);
  const { code, stdout } = await kgrid(['push', 'zips', '--keep-going'], options);
  assert.equal(code, 1);
  assert.match(
    stdout,
    /2 of 2 endpoints active\n2 knowledge objects not pushed:\n {2}zips\/torn\.zip: 1 problem\n {2}zips\/two\.zip: 1 problem\n$/,
  );
  assert.deepEqual(
    (await service.get('/kos')).list.map((each) => each['@id']),
    ['test/one/v1.0', 'test/three/v1.0'],
  );

  await edit(join(cwd, 'one/src/index.js'), 'const mean', 'const  mean');
  const again = await kgridJson<{ ok: boolean; kos: string[]; notPushed: { source: string; cause: string }[] }>(
    ['push', 'one', 'three', '--no-test', '--keep-going'],
    options,
  );
  assert.deepEqual([again.code, again.json.ok, again.json.kos], [1, false, ['test/three/v1.0']]);
  assert.match(again.json.notPushed[0]?.cause ?? '', /has another test\/one\/v1\.0: say --replace/);
  const whole = await kgrid(['push', 'one', 'three', '--no-test', '--keep-going', '--replace'], options);
  assert.equal(whole.code, 0, whole.stdout);
});
