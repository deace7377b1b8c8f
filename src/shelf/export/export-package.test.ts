import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { Bench } from '../../../test/archives/bench.ts';
import { koFiles, zipOf } from '../../../test/archives/ko.ts';
import type { KoId } from '../../knowledge-object/id.ts';
import { exportPackage } from './export-package.ts';

const bench = await Bench.open();
after(() => bench[Symbol.asyncDispose]());

const id: KoId = { naan: 'a', name: 'b', version: 'v1.0' };

async function exported(): Promise<{ fileName: string; zip: Buffer }> {
  const ko = await bench.shelf.open(id);
  assert.ok(ko !== undefined);
  try {
    const { fileName, stream } = exportPackage(ko);
    return { fileName, zip: await buffer(stream) };
  } finally {
    ko.release();
  }
}

test('an exported package is every file of it, in one top folder, and can be imported again', async () => {
  const files = koFiles({ id: 'a/b/v1.0', files: { 'docs/größe.txt': 'x', empty: '', __proto__file: '1' } });
  const before = await bench.import(zipOf(files, { topFolder: 'whatever' }));
  const { fileName, zip } = await exported();
  assert.equal(fileName, 'a-b-v1.0.zip');
  assert.ok(zip.includes('a-b-v1.0/docs/größe.txt'));
  await bench.shelf.remove(id);
  const again = await bench.import(zip);
  assert.deepEqual([again.digest, again.etag], [before.digest, before.etag]);
  assert.deepEqual(
    Object.fromEntries(await bench.contents('a/b/v1.0')),
    Object.fromEntries(Object.entries(files).map(([path, data]) => [path, Buffer.from(data)])),
  );
});

test('the same KO gives the same bytes, in whatever zip it came', async () => {
  const files = koFiles({ id: 'a/b/v1.0' });
  await bench.import(zipOf(files));
  const first = await exported();
  await bench.import(zipOf(Object.fromEntries(Object.entries(files).reverse()), { topFolder: 'x' }));
  assert.ok((await exported()).zip.equals(first.zip));
});

test('metadata.json is exported as the shelf now has it', async () => {
  await bench.import(zipOf(koFiles({ id: 'a/b/v1.0' })));
  const metadata =
    '{"@id":"a/b/v1.0", "hasServiceSpecification":"service.yaml","hasDeploymentSpecification":"deployment.yaml","x":1.50}';
  await bench.shelf.replaceMetadata(id, metadata);
  const { zip } = await exported();
  await bench.import(zip);
  assert.equal((await bench.contents('a/b/v1.0')).get('metadata.json')?.toString(), metadata);
});
