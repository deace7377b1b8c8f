import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { explode } from '../acceptance/support/folders.ts';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { inRound, longTest } from '../support/round.ts';
import { execute, openEditor } from './support/editor.ts';
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
  folders: inRound(['nephrology-ckdepi-v1.0', 'nephrology-ckdepi-v2.0', 'cpic-cyp2d6-v1.0'], undefined),
});
proxy.passTo(service.url);
const { origin } = new URL(proxy.url);
const browser = await theBrowser();
const naan = uniqueNaan();

test('in the secured profile and below a path, the overview and all its links work without a login', async () => {
  await using visit = await browser.visit();
  await visit.page.goto(`${proxy.url}/`);
  await visit.page.locator('#list > li').first().waitFor();
  const addresses = await visit.page.evaluate<string[]>(
    `[...document.querySelectorAll('a:not(.skip)')].map((each) => each.href)`,
  );
  assert.ok(addresses.length > inRound(12, 80), `${addresses.length} links`);
  for (const address of new Set(addresses)) {
    assert.ok(address.startsWith(`${proxy.url}/`), address);
    assert.equal((await fetch(address)).status, 200, address);
  }
  assert.deepEqual(proxy.strays, []);
  visit.assertQuiet(origin);
});

/** One whose path begins as the prefix does, and one that is not so. */
const CALLED = inRound(['nephrology/ckdepi/1.0/egfr'], ['nephrology/ckdepi/1.0/egfr', 'cpic/cyp2d6/1.0/phenotype']);

for (const id of CALLED) {
  test(`${id} is called below the path, from the overview and from the link of the listing`, async () => {
    await using visit = await browser.visit();
    const { page } = visit;
    const listed = (await service.get(`/endpoints/${id}`)).object;
    const link = new URL(String(listed['swaggerLink']));
    assert.ok(link.href.startsWith(`${proxy.url}/doc?url=`), link.href);
    assert.equal((await fetch(link)).status, 200);
    const fromOverview = async (): Promise<void> => {
      await page.goto(`${proxy.url}/`);
      await page.locator(`a[href^="doc?url=${String(listed['knowledgeObject'])}/"]`).click();
    };
    for (const open of inRound([fromOverview], [fromOverview, () => page.goto(link.href)])) {
      await open();
      await page.locator('.opblock').first().waitFor();
      const { status, url } = await execute(page, id.split('/').at(-1) ?? '');
      assert.deepEqual([status, url], [200, `${proxy.url}/${id}`]);
    }
    assert.deepEqual(proxy.strays, []);
    visit.assertQuiet(origin);
  });
}

async function firstNote(id: string): Promise<string> {
  await using visit = await browser.visit();
  await openEditor(visit.page, proxy.url, `/kos/${id}/service.yaml`);
  return await visit.page.locator('#notes li').first().innerText();
}

const NOT_ACTIVATED = 'This knowledge object is not activated, so calls are answered with 404: ';

longTest(
  'of a knowledge object that could not be loaded, the cause is said without a login, and what to do',
  async () => {
    const broken = welcomeKo({ naan, name: 'broken', files: { 'deployment.yaml': '{ not yaml' } });
    await explode(broken, service.shelf, 'broken');
    await service.get('/actuator/activation/reload');
    const note = await firstNote(broken.id);
    assert.ok(
      note.startsWith(`${NOT_ACTIVATED}${broken.id} does not run: deployment.yaml is not valid YAML: line 1`),
      note,
    );
    assert.ok(note.endsWith(`. When that is mended, GET /actuator/activation/reload/${broken.id} activates it`), note);
  },
);

// In every run the overview says it.
if (inRound(false, true))
  test('of a knowledge object that was never loaded, what to do is said', async () => {
    const idle = welcomeKo({ naan, name: 'idle' });
    await service.add(idle);
    const { id } = idle;
    const reload = `GET /actuator/activation/reload/${id} activates it`;
    assert.equal(await firstNote(id), `${NOT_ACTIVATED}${id} is on the shelf but not active: ${reload}`);
  });
