import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ownExampleService } from './support/example-service.ts';
import { execute } from './support/editor.ts';
import { prefixProxy } from './support/prefix-proxy.ts';
import { theBrowser } from './support/visit.ts';

// The prefix is a naan of the examples too.
const proxy = await prefixProxy('/nephrology');
after(() => proxy[Symbol.asyncDispose]());
const service = await ownExampleService({
  profile: 'secure',
  env: { KGRID_USER: 'ann', KGRID_PASSWORD: 'a long password of a test' },
  args: ['--public-url', proxy.url],
});
proxy.passTo(service.url);
const { origin } = new URL(proxy.url);
const browser = await theBrowser();

test('in the secured profile and below a path, the overview and all its links work without a login', async () => {
  await using visit = await browser.visit();
  await visit.page.goto(`${proxy.url}/`);
  await visit.page.locator('#list > li').first().waitFor();
  const addresses = await visit.page.evaluate<string[]>(
    `[...document.querySelectorAll('a:not(.skip)')].map((each) => each.href)`,
  );
  assert.ok(addresses.length > 80, `${addresses.length} links`);
  for (const address of new Set(addresses)) {
    assert.ok(address.startsWith(`${proxy.url}/`), address);
    assert.equal((await fetch(address)).status, 200, address);
  }
  assert.deepEqual(proxy.strays, []);
  visit.assertQuiet(origin);
});

for (const id of ['nephrology/ckdepi/1.0/egfr', 'cpic/cyp2d6/1.0/phenotype']) {
  test(`${id} is called below the path, from the overview and from the link of the listing`, async () => {
    await using visit = await browser.visit();
    const { page } = visit;
    const listed = (await service.get(`/endpoints/${id}`)).object;
    const link = new URL(String(listed['swaggerLink']));
    assert.ok(link.href.startsWith(`${proxy.url}/doc?url=`), link.href);
    const fromOverview = async (): Promise<void> => {
      await page.goto(`${proxy.url}/`);
      await page.locator(`a[href^="doc?url=${String(listed['knowledgeObject'])}/"]`).click();
    };
    for (const open of [fromOverview, () => page.goto(link.href)]) {
      await open();
      await page.locator('.opblock').first().waitFor();
      const { status, url } = await execute(page, id.split('/').at(-1) ?? '');
      assert.deepEqual([status, url], [200, `${proxy.url}/${id}`]);
    }
    assert.deepEqual(proxy.strays, []);
    visit.assertQuiet(origin);
  });
}
