import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkedSender } from './support/interface-check.ts';
import { uniqueNaan, welcomeKo } from './support/ko.ts';
import { startService } from './support/service.ts';
import type { OwnService } from './support/service.ts';

const service = await startService({ args: ['--trust-proxy', '127.0.0.1,10.0.0.0/8'] });
after(() => service[Symbol.asyncDispose]());
const ko = welcomeKo({ naan: uniqueNaan() });
await service.serve(ko);

const linkOf = async ({ get }: OwnService, headers: Record<string, string>): Promise<string> =>
  String((await get(`/endpoints/${ko.naan}/ko/1.0/welcome`, headers)).object['swaggerLink']);
const OUTSIDE = { 'x-forwarded-host': 'grid.example.org', 'x-forwarded-proto': 'https' };

test('--trust-proxy believes forwarded headers', async () => {
  assert.ok((await linkOf(service, OUTSIDE)).startsWith('https://grid.example.org/'));
});

test('redirects stay below the path under which a trusted proxy has the service', async () => {
  const locations = { '/actuator/reload': '/grid/endpoints', [`/kos/ark:/${ko.id}`]: `/grid/kos/${ko.id}` };
  for (const [path, location] of Object.entries(locations)) {
    const answer = await service.get(path, { 'x-forwarded-prefix': '/grid' });
    assert.equal(answer.headers.location, location);
  }
});

/** From where the service thinks that a change came. */
async function seenFrom({ url }: OwnService, forwarded: string): Promise<unknown> {
  await checkedSender(url)('PUT', `/kos/${ko.id}`, { headers: { 'x-forwarded-for': forwarded }, body: '[]' });
  const { list } = await checkedSender(url)('GET', '/actuator/audit?limit=1');
  return list[0]?.['remoteAddress'];
}

test('addresses are believed from the right, as far as the proxies that say them are trusted', async () => {
  const cases: Record<string, string> = {
    '192.0.2.1': '192.0.2.1',
    '6.6.6.6, 192.0.2.1': '192.0.2.1',
    '6.6.6.6, 192.0.2.1, 10.1.2.3': '192.0.2.1',
    '192.0.2.1:4711, 10.1.2.3:80': '192.0.2.1',
    '[2001:db8::0:1]:443': '2001:db8::1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '10.9.9.9, 10.1.2.3': '10.9.9.9',
    '192.0.2.1, unknown': '127.0.0.1',
    'admin was here': '127.0.0.1',
    '0x7f.1': '127.0.0.1',
    '192.0.2.1, 192.0.2.1%eth0': '127.0.0.1',
    [`192.0.2.1, ${'x'.repeat(12_000)}`]: '127.0.0.1',
    [`${'6.6.6.6, '.repeat(1000)}192.0.2.1`]: '192.0.2.1',
  };
  for (const [forwarded, address] of Object.entries(cases))
    assert.equal(await seenFrom(service, forwarded), address, forwarded.slice(-60));
});

test('of one proxy only what it says itself is believed, and of none nothing', async () => {
  await using one = await startService({ args: ['--trust-proxy'] });
  await one.logged(({ level, msg }) => level === 'warn' && String(msg).startsWith('--trust-proxy without a value'));
  await one.serve(ko);
  assert.equal(await seenFrom(one, '6.6.6.6, 10.1.2.3'), '10.1.2.3');
  const appended = { 'x-forwarded-host': 'evil.example, grid.example.org', 'x-forwarded-for': '6.6.6.6, 192.0.2.1' };
  assert.ok((await linkOf(one, appended)).startsWith('http://grid.example.org/'));

  await using elsewhere = await startService({ args: ['--trust-proxy', '192.0.2.0/24'] });
  await elsewhere.serve(ko);
  assert.equal(await seenFrom(elsewhere, '6.6.6.6'), '127.0.0.1');
  assert.ok((await linkOf(elsewhere, { ...OUTSIDE, 'x-forwarded-prefix': '/x' })).startsWith(`${elsewhere.url}/doc`));
});
