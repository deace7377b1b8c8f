import assert from 'node:assert/strict';
import { test } from 'node:test';
import { welcomeKo, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { servePlaces } from './support/places.ts';
import { startService } from './support/service.ts';

const PROBLEM = 'application/problem+json';
const one = welcomeKo({ naan: 'a', name: 'one' });
const changed: Ko = { ...one, files: { ...one.files, 'extra.txt': 'more' } };

test('an import that changes a version that is there says so: header, log, audit; one of the same content does not', async () => {
  await using service = await startService();
  const first = await service.importZip(await zipOf(one.files));
  const again = await service.importZip(await zipOf(one.files));
  assert.deepEqual(
    [first, again].map(({ headers }) => headers['kgrid-replaced']),
    [undefined, undefined],
  );
  const other = await service.importZip(await zipOf(changed.files));
  const said = String(other.headers['kgrid-replaced']);
  const [, before, after] = /^sha256:([0-9a-f]{64}), sha256:([0-9a-f]{64})$/.exec(said) ?? [];
  const audits = await audited(service, 'import', 3);
  assert.deepEqual(
    audits.map((line) => line['digest']),
    [before, before, after],
  );
  assert.deepEqual(
    audits.map((line) => line['Replaced']),
    [undefined, undefined, said],
  );
  const line = await service.logged(({ msg }) => msg === 'Replaced');
  assert.deepEqual(
    [line['level'], line['ko'], line['digests'], typeof line['requestId']],
    ['warn', one.id, said, 'string'],
  );
});

test('a manifest that changes a version that is there says so in log and audit', async () => {
  await using web = await servePlaces({ '/one.zip': await zipOf(changed.files) });
  await using service = await startService();
  await service.importZip(await zipOf(one.files));
  await service.post('/kos/manifest', [`${web.url}/one.zip`]);
  const [line] = await audited(service, 'import manifest', 1);
  assert.match(String(line?.['Replaced']), /^a\/one\/v1\.0 sha256:[0-9a-f]{64}, sha256:[0-9a-f]{64}$/);
  await service.logged(({ msg, ko }) => msg === 'Replaced' && ko === one.id);
});

test('a deletion says whether endpoints stay active', async () => {
  await using service = await startService();
  await service.serve(one);
  const active = await service.delete(`/kos/${one.id}`);
  assert.deepEqual([active.status, active.headers['kgrid-still-active']], [204, 'true']);
  assert.equal((await service.post('/a/one/1.0/welcome', { name: 'Ann' })).status, 200);
  await service.importZip(await zipOf(one.files));
  await service.get('/actuator/activation/refresh');
  await service.delete(`/kos/${one.id}`);
  await service.get('/actuator/activation/refresh');
  await service.importZip(await zipOf(one.files));
  const idle = await service.delete(`/kos/${one.id}`);
  assert.deepEqual([idle.status, idle.headers['kgrid-still-active']], [204, undefined]);
});

test('the reasons of a manifest that fails reach its caller: a count, a document for whom asks, and the log', async () => {
  await using web = await servePlaces({ '/bad.zip': Buffer.from('no zip'), '/one.zip': await zipOf(one.files) });
  await using service = await startService();
  const bad = [`${web.url}/bad.zip`, 'file:///no/such/host/path.zip'];
  const plain = await service.post('/kos/manifest', bad);
  assert.deepEqual([plain.status, plain.json, plain.headers['kgrid-manifest-errors']], [400, [], '2']);
  const lines = await Promise.all(bad.map((place) => service.logged(({ location }) => location === place)));
  assert.equal(new Set(lines.map((line) => line['requestId'])).size, 1);
  assert.equal(typeof lines[0]?.['requestId'], 'string');

  const asked = await service.post('/kos/manifest', bad, { accept: PROBLEM });
  assert.equal(asked.status, 400);
  assert.equal(asked.headers['content-type'], PROBLEM);
  const { requestId, ...document } = asked.json as Record<string, unknown>;
  assert.equal(typeof requestId, 'string');
  assert.deepEqual(document, {
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    detail: '2 of 2 entries were not imported',
    instance: '/kos/manifest',
    imported: [],
    errors: [
      { location: bad[0], detail: 'The zip file is not a zip file' },
      { location: bad[1], detail: 'names no file' },
    ],
  });
  const partly = await service.post('/kos/manifest', [`${web.url}/one.zip`, ...bad], { accept: PROBLEM });
  assert.equal(partly.status, 200);
  const { imported, detail } = partly.json as { imported: string[]; detail: string };
  assert.deepEqual([imported, detail], [['a/one/v1.0/'], '2 of 3 entries were not imported']);
  const whole = await service.post('/kos/manifest', [`${web.url}/one.zip`], { accept: `${PROBLEM}, */*;q=0.1` });
  assert.deepEqual([whole.status, whole.json, whole.headers['kgrid-manifest-errors']], [200, ['a/one/v1.0/'], '0']);
  const empty = await service.post('/kos/manifest', {}, { accept: PROBLEM });
  assert.equal((empty.json as { detail: string }).detail, 'The manifest lists no knowledge objects');
});

test('the document is bounded, however much fails', async () => {
  await using service = await startService();
  const entries = Array.from({ length: 1000 }, (_, i) => `nowhere:${i}${'x'.repeat(2000)}`);
  const answer = await service.post('/kos/manifest', entries, { accept: PROBLEM });
  const { errors, more } = answer.json as { errors: unknown[]; more: number };
  assert.deepEqual([errors.length, more, answer.headers['kgrid-manifest-errors']], [100, 900, '1000']);
  assert.ok(answer.text.length < 150_000, String(answer.text.length));
});

/** The first audit lines of an action. */
async function audited(service: Awaited<ReturnType<typeof startService>>, action: string, many: number) {
  const lines = () => service.log.filter((line) => line['audit'] === true && line['action'] === action);
  await service.logged(() => lines().length >= many);
  return lines().slice(0, many);
}
