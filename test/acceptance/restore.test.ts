/** What is deleted or replaced is kept, and comes back. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertShelfError } from './support/expectations.ts';
import { jsonBody } from './support/client.ts';
import { checkedSender } from './support/interface-check.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from './support/ko.ts';
import { startService, temporaryFolder } from './support/service.ts';

const secured = {
  profile: 'secure',
  env: { KGRID_USER: 'curator', KGRID_PASSWORD: 's3cret' },
  credentials: 'curator:s3cret',
};

test('what was replaced or deleted comes back, over a kill, and says so: status, headers, audit', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const first = javascriptKo('function run() { return 1; }', { naan, name: 'ko' });
  const second = javascriptKo('function run() { return 2; }', { naan, name: 'ko' });
  const path = `/kos/${first.id}/restore`;
  let digests: string[];
  {
    await using service = await startService({ ...secured, shelf: folder.path });
    await service.serve(first);
    await service.serve(second);
    const replaced = await service.send('POST', path);
    assert.equal(replaced.status, 200);
    assert.deepEqual(replaced.object, { Restored: `${first.id}/` });
    assert.equal(replaced.headers['location'], `/kos/${first.id}`);
    digests = String(replaced.headers['kgrid-replaced']).split(', ');
    assert.equal(digests[1], replaced.headers['kgrid-package-digest']);
    assert.equal((await service.post(pathOf(first), {})).object['result'], 2, 'nothing is activated by it');
    await service.reload(first);
    assert.equal((await service.post(pathOf(first), {})).object['result'], 1);
    await service.delete(`/kos/${first.id}`);
    await service.stop('SIGKILL');
  }
  await using service = await startService({ ...secured, shelf: folder.path });
  const kept = await service.get(`/actuator/removed?ko=${first.id}`);
  for (const after of ['x', `2020-01-01T00:00:00.000Z/${first.id}`]) {
    const refused = await service.get(`/actuator/removed?after=${encodeURIComponent(after)}`);
    assert.equal(refused.status, 400);
    assert.match(String(refused.object['Detail']), /^after names no place of this list/);
  }
  assert.deepEqual(
    kept.list.map((each) => {
      const { ko, digest, why, by } = each as Record<string, string>;
      return [ko, digest, why, by];
    }),
    [
      [first.id, digests[1], 'deleted', 'curator'],
      [first.id, digests[0], 'replaced', 'curator'],
    ],
  );
  const created = await service.send('POST', path);
  assert.deepEqual([created.status, created.headers['kgrid-replaced']], [201, undefined]);
  const other = await service.send('POST', path, jsonBody({ digest: digests[0] }));
  assert.deepEqual([other.status, other.headers['kgrid-replaced']], [200, `${digests[1]}, ${digests[0]}`]);
  const audit = (await service.get(`/actuator/audit?ko=${first.id}`)).list as Record<string, string>[];
  const [latest] = audit.filter(({ action }) => action === 'restore');
  assert.deepEqual(
    [latest?.['who'], latest?.['outcome'], `sha256:${latest?.['digest']}`, latest?.['Replaced']],
    ['curator', 'done', digests[0], `${digests[1]}, ${digests[0]}`],
  );
});

const service = await startService(secured);
after(() => service[Symbol.asyncDispose]());

test('a restore needs a login and honours If-Match; what is not kept is 404 and says what is', async () => {
  const ko = javascriptKo('function run() { return 1; }', { naan: uniqueNaan(), name: 'ko' });
  const path = `/kos/${ko.id}/restore`;
  for (const [method, each] of [
    ['POST', path],
    ['GET', '/actuator/removed'],
  ] as const)
    assert.equal((await checkedSender(service.url)(method, each)).status, 401, each);
  assertShelfError(await service.send('POST', path), { status: 404, path, error: /^Nothing is kept of / });
  await service.serve(ko);
  await service.put(`/kos/${ko.id}`, { ...ko.metadata, title: 'Another' });
  const { headers } = await service.get(`/kos/${ko.id}`);
  const missing = await service.send('POST', `${path}?digest=sha256:${'0'.repeat(64)}`);
  assertShelfError(missing, {
    status: 404,
    path,
    error: /No package of .* is kept with the digest sha256:0+; kept are: sha256:[0-9a-f]{64} \(replaced /,
  });
  const stale = await service.send('POST', path, { headers: { 'if-match': '"stale"' } });
  assertShelfError(stale, { status: 412, path, error: /If-Match/ });
  for (const sent of [{ digest: 'x' }, { digest: 1 }, []])
    assert.equal((await service.send('POST', path, jsonBody(sent))).status, 400, JSON.stringify(sent));
  const back = await service.send('POST', path, { headers: { 'if-match': String(headers['etag']) } });
  assert.equal(back.status, 200);
  assert.deepEqual((await service.get(`/kos/${ko.id}`)).object, ko.metadata);
});

test('a file of a knowledge object that is named restore is read all the same', async () => {
  const ko = resourceKo({ naan: uniqueNaan(), name: 'files', resources: { 'a.txt': 'text' } });
  assert.equal((await service.importZip(await zipOf({ ...ko.files, restore: 'a file' }))).status, 200);
  assert.equal((await service.get(`/kos/${ko.id}/restore`)).text, 'a file');
  await service.add(ko);
  assert.equal((await service.get(`/kos/${ko.id}/restore`)).status, 404);
  assert.equal((await service.put(`/kos/${ko.id}/restore`, {})).headers['allow'], 'GET, HEAD, POST');
});

test('with bounds of 0 nothing is kept, and pages lead on', async () => {
  await using none = await startService({ args: ['--keep-removed', '0'] });
  const naan = uniqueNaan();
  const kos = ['a', 'b', 'c'].map((name) => resourceKo({ naan, name, resources: { 'a.txt': name } }));
  await using service = await startService();
  for (const each of [none, service])
    for (const ko of kos) {
      await each.add(ko);
      await each.delete(`/kos/${ko.id}`);
    }
  assert.deepEqual((await none.get('/actuator/removed')).list, []);
  const found: string[] = [];
  let path: string | undefined = '/actuator/removed?limit=1';
  while (path !== undefined) {
    const { list, headers } = await service.get(path);
    found.push(...list.map((each) => (each as { ko: string }).ko));
    path = /^<(.+)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1];
  }
  assert.deepEqual(found, kos.map(({ id }) => id).reverse());
});
