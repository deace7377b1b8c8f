/** First segments of paths that became the service's own after knowledge objects had them as a naan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { upload } from './support/client.ts';
import { explode } from './support/folders.ts';
import { javascriptKo, resourceKo, zipOf } from './support/ko.ts';
import { startService, temporaryFolder } from './support/service.ts';

const LATER = ['openapi', 'mcp', 'fhir'];

test('what lies on a shelf under a naan that is a path of the service by now stays, below /endpoints only', async () => {
  await using folder = await temporaryFolder();
  const kos = LATER.map((naan) => javascriptKo('function run(n) { return n + 1; }', { naan, name: 'ko' }));
  const files = resourceKo({ naan: 'mcp', name: 'files', resources: { 'a.txt': 'a' } });
  for (const [i, ko] of [...kos, files].entries()) await explode(ko, folder.path, `ko${i}`);
  await using service = await startService({ shelf: folder.path });
  for (const naan of LATER) {
    for (const path of [`/${naan}/ko/1.0/run`, `/${naan}/ko/run`, `/${naan}/ko/v1.0/run`])
      assert.equal((await service.post(path, 1)).status, 404, path);
    for (const path of [`/endpoints/${naan}/ko/1.0/run`, `/endpoints/${naan}/ko/run`])
      assert.equal((await service.post(path, 1)).object['result'], 2, path);
    assert.equal((await service.get(`/kos/${naan}/ko/v1.0`)).status, 200);
    assert.equal((await service.get(`/endpoints/${naan}/ko/1.0/run`)).status, 200);
    assert.ok(await service.logged(({ event, ko }) => event === 'reserved-naan' && ko === `${naan}/ko`));
  }
  for (const method of ['GET', 'PUT', 'DELETE'])
    assert.equal((await service.send(method, '/mcp/files/v1.0/files/a.txt')).status, 404, method);
});

test('nothing is imported under such a naan', async () => {
  await using service = await startService();
  for (const naan of LATER) {
    const ko = javascriptKo('function run(n) { return n; }', { naan, name: 'ko' });
    const refused = await service.send('POST', '/kos', upload(await zipOf(ko.files)));
    assertShelfError(refused, { status: 400, path: '/kos', error: new RegExp(`"${naan}", which is a path of this`) });
  }
});
