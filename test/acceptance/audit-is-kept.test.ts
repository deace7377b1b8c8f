/** The log may lose lines; the shelf has the audit all the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sender } from './support/client.ts';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { startService, temporaryFolder } from './support/service.ts';

const AUDIT = '/actuator/audit';
const secured = {
  profile: 'secure',
  env: { KGRID_USER: 'curator', KGRID_PASSWORD: 's3cret' },
  credentials: 'curator:s3cret',
};

test('what changed is read from the shelf with a login, in pages and after a kill, whatever the log shows', async () => {
  await using folder = await temporaryFolder();
  const ko = welcomeKo({ naan: uniqueNaan() });
  {
    await using service = await startService({ ...secured, shelf: folder.path });
    assert.equal((await sender(service.url)('GET', AUDIT)).status, 401);
    await service.serve(ko);
    const { headers } = await service.get(`/kos/${ko.id}`);
    assert.equal((await sender(service.url)('DELETE', `/kos/${ko.id}`)).status, 401);
    await service.stop('SIGKILL');
    assert.ok(headers['kgrid-package-digest']);
  }
  await using service = await startService({ ...secured, shelf: folder.path });
  await service.delete(`/kos/${ko.id}`);
  const { array, headers } = await pageOf(service, AUDIT);
  assert.deepEqual(
    array
      .filter(({ action }) => action !== 'reload' && action !== 'refresh')
      .map(({ who, action, outcome }) => [who, action, outcome]),
    [
      ['curator', 'delete', 'done'],
      ['anonymous', 'shelf-write', 'refused'],
      ['curator', 'import', 'done'],
    ],
  );
  assert.equal(headers['link'], undefined);
  assert.equal(new Set(array.map(({ id }) => id)).size, array.length);
  const imported = array.find(({ action }) => action === 'import');
  assert.match(String(imported?.['digest']), /^[0-9a-f]{64}$/);
  assert.match(String(imported?.['time']), /^\d{4}-.*Z$/);
  let path: string | undefined = `${AUDIT}?limit=1&ko=${ko.id}`;
  const paged: unknown[] = [];
  while (path !== undefined) {
    const page = await pageOf(service, path);
    assert.equal(page.array.length, 1);
    paged.push(...page.array);
    path = /^<(.+)>; rel="next"$/.exec(String(page.headers['link'] ?? ''))?.[1];
  }
  assert.deepEqual(paged, (await pageOf(service, `${AUDIT}?ko=${ko.id}`)).array);
  assert.deepEqual((await pageOf(service, `${AUDIT}?who=nobody`)).array, []);
  assert.deepEqual((await pageOf(service, `${AUDIT}?since=2100-01-01`)).array, []);
});

test('questions that cannot be answered are 400 and say why', async () => {
  await using service = await startService();
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'after=-1', 'since=yesterday', 'who=a&who=b']) {
    const { status, object } = await service.get(`${AUDIT}?${query}`);
    assert.equal(status, 400, query);
    assert.match(String(object['Detail']), new RegExp(query.split('=')[0] ?? ''), query);
  }
  assert.equal((await service.send('POST', AUDIT)).status, 405);
});

type Service = Awaited<ReturnType<typeof startService>>;

async function pageOf(service: Service, path: string) {
  const answer = await service.get(path);
  assert.equal(answer.status, 200, answer.text);
  return { array: answer.json as Record<string, unknown>[], headers: answer.headers };
}
