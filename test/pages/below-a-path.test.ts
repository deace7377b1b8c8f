/** The pages of a service that is behind a proxy, below a path. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { execute } from './support/editor.ts';
import { logIn, openFront } from './support/front.ts';
import { prefixProxy } from './support/prefix-proxy.ts';
import { ownExampleService, PASSWORD, USER } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

// The prefix is a naan of the examples too.
const proxy = await prefixProxy('/nephrology');
after(() => proxy[Symbol.asyncDispose]());
const service = await ownExampleService({
  profile: 'secure',
  env: { KGRID_USER: USER, KGRID_PASSWORD: PASSWORD },
  credentials: `${USER}:${PASSWORD}`,
  args: ['--public-url', proxy.url],
  folders: ['nephrology-ckdepi-v2.0'],
});
proxy.passTo(service.url);
const browser = await theBrowser();

test('the catalogue, a knowledge object, its links, a login and a call work below the path', async () => {
  await using visit = await browser.visit();
  const page = await openFront(visit, proxy.url);
  await page.getByRole('link', { name: 'CKD-EPI creatinine equation 2021' }).click();
  await page.getByRole('link', { name: 'OpenAPI', exact: true }).waitFor();
  const addresses = await page.evaluate<string[]>(
    `[...document.querySelectorAll('a[href]:not(.skip)')].map((each) => each.href)`,
  );
  for (const address of new Set(addresses)) {
    assert.ok(address.startsWith(`${proxy.url}/`), address);
    assert.equal((await fetch(address)).status, 200, address);
  }
  await page.getByRole('link', { name: 'Log in' }).click();
  await logIn(page);
  await page.getByRole('link', { name: 'Health' }).click();
  await page.getByText('All that should run does.').waitFor();
  assert.deepEqual(proxy.strays, []);
  visit.assertQuiet(new URL(proxy.url).origin);
});

test('the link of the listing leads to the OpenAPI page, which calls below the path', async () => {
  await using visit = await browser.visit();
  const id = 'nephrology/ckdepi/2.0/egfr';
  const link = String((await service.get(`/endpoints/${id}`)).object['swaggerLink']);
  assert.ok(link.startsWith(`${proxy.url}/doc?url=`), link);
  await visit.page.goto(link);
  await visit.page.locator('.opblock').first().waitFor();
  const { status, url } = await execute(visit.page, 'egfr');
  assert.deepEqual([status, url], [200, `${proxy.url}/${id}`]);
  assert.deepEqual(proxy.strays, []);
});
