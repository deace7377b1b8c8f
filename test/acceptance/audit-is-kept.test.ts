/** The log may lose lines; the shelf has the audit all the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkedSender } from './support/interface-check.ts';
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
    assert.equal((await checkedSender(service.url)('GET', AUDIT)).status, 401);
    await service.serve(ko);
    const { headers } = await service.get(`/kos/${ko.id}`);
    assert.equal((await checkedSender(service.url)('DELETE', `/kos/${ko.id}`)).status, 401);
    await service.logged(({ outcome }) => outcome === 'refused');
    // What is answered after the line is answered after the record.
    await service.get('/actuator/health');
    await service.stop('SIGKILL');
    assert.ok(headers['kgrid-package-digest']);
  }
  await using service = await startService({ ...secured, shelf: folder.path });
  await service.delete(`/kos/${ko.id}`);
  const { array, headers } = await pageOf(service, AUDIT);
  assert.deepEqual(
    array
      .filter(({ action }) => !['reload', 'refresh', 'start'].includes(String(action)))
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

test('refused requests are counted and told together, and push nothing out of the audit', async () => {
  const times = 2000;
  await using folder = await temporaryFolder();
  await using service = await startService({ ...secured, shelf: folder.path, args: ['--max-audit', '64KB'] });
  await service.get('/actuator/reload');
  const logged = service.log.length;
  const [anonymous, mistaken] = [checkedSender(service.url), checkedSender(service.url, 'mallory:wr0ng')];
  const refused = async (): Promise<void> => {
    for (let i = 0; i < times / 4; i++) assert.equal((await anonymous('DELETE', `/kos/a/b/v${i}`)).status, 401);
  };
  await Promise.all(Array.from({ length: 4 }, refused));
  for (let i = 0; i < 10; i++) assert.equal((await mistaken('GET', '/actuator/info')).status, 401);
  const wrong = await service.logged(({ event }) => event === 'login-refused');
  assert.deepEqual([wrong['user'], wrong['reason'], wrong['remoteAddress']], ['mallory', 'wrong', '127.0.0.1']);
  assert.ok(!JSON.stringify(service.log).includes('wr0ng'));
  const metrics = (await service.get('/actuator/prometheus')).text;
  assert.match(metrics, /kgrid_logins_refused_total\{reason="wrong"\} 10\n/);
  await service.stop();
  const told = service.log.slice(logged).filter(({ outcome }) => outcome === 'refused');
  assert.equal(
    told.reduce((sum, line) => sum + Number(line['times']), 0),
    times,
  );
  // Two of a reason and address where a minute passed or the service stopped.
  assert.ok(service.log.length - logged < 20, String(service.log.length));

  await using again = await startService({ ...secured, shelf: folder.path });
  const { array } = await pageOf(again, `${AUDIT}?limit=1000`);
  assert.ok(array.some(({ action, who }) => action === 'reload' && who === 'curator'));
  assert.equal(array.filter(({ outcome }) => outcome === 'refused').length, told.length);
});
