import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { inRound, longTest } from '../support/round.ts';
import { openEditor } from './support/editor.ts';
import { measure } from './support/measure.ts';
import { openService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

const IMAGE = '<img src=x onerror=alert(1)>';
const NAMES = ['a b.txt', 'a#b.txt', 'a?b=c.txt', 'a%2Fb.txt', "a'&amp;.txt", `${IMAGE}.txt`];
const PLACES = [
  { page: 'overview', width: 320 },
  { page: 'editor', width: 320 },
  ...inRound([], [{ page: 'overview', width: 1280 }]),
];
const naan = uniqueNaan();
const browser = await theBrowser();
const service = await openService();
/** Of this knowledge object alone. */
const overview = `${service.url}/?q=${naan}`;
const ko = welcomeKo({
  naan,
  name: 'files',
  metadata: {
    title: `${IMAGE}</h2><script>alert(2)</script>`,
    keywords: [IMAGE],
    hasServiceSpecification: 'my service#1.yaml',
  },
  files: {
    'service.yaml': undefined,
    'README.md': `# ${IMAGE}`,
    'worked-examples.yaml': '[]',
    ...Object.fromEntries(NAMES.map((name) => [name, `content of ${name}`])),
  },
});
const made = welcomeKo({ naan, name: 'files' });
await service.serve({ ...ko, files: { ...ko.files, 'my service#1.yaml': made.files['service.yaml'] ?? '' } });

test('README and worked examples come first, and each file is reached, whatever its name', async () => {
  for (const { page, width } of PLACES) {
    await using visit = await browser.visit({ width, height: 800 });
    visit.page.on('dialog', (dialog) => assert.fail(`a script ran: ${dialog.message()}`));
    if (page === 'overview') await visit.page.goto(overview);
    else await openEditor(visit.page, service.url, `/kos/${ko.id}/my%2520service%25231.yaml`);
    const summary = visit.page.locator('details > summary').filter({ hasText: 'Files' });
    await summary.focus();
    await visit.page.keyboard.press('Enter');
    const links = visit.page.locator('ul.files a');
    await links.first().waitFor();
    const texts = await links.allInnerTexts();
    assert.deepEqual(texts.slice(0, 2), ['README', 'Worked examples']);
    for (const name of NAMES) assert.ok(texts.includes(name), `${name} in ${texts.join(', ')}`);
    await visit.page.keyboard.press('Tab');
    assert.equal(await visit.page.evaluate('document.activeElement.textContent'), 'README');
    const addresses = await visit.page.evaluate<string[]>(
      `[...document.querySelectorAll('ul.files a')].map((each) => each.href)`,
    );
    for (const [i, address] of addresses.entries()) {
      assert.ok(address.startsWith(`${service.url}/kos/${ko.id}/`), address);
      const answer = await fetch(address);
      assert.equal(answer.status, 200, address);
      const name = texts[i] ?? '';
      if (NAMES.includes(name)) assert.equal(await answer.text(), `content of ${name}`);
    }
    assert.equal(await visit.page.locator('img, #list script').count(), 0, 'no name became markup');
    const { pale, sideways } = await measure(visit.page);
    assert.deepEqual({ pale, sideways }, { pale: [], sideways: 0 });
    visit.assertQuiet(service.url);
  }
});

longTest('the link to a service descriptor with an odd name leads to it', async () => {
  await using visit = await browser.visit();
  await visit.page.goto(overview);
  const link = visit.page.getByRole('link', { name: 'Service descriptor' });
  const address = new URL((await link.getAttribute('href')) ?? '', service.url);
  assert.equal((await fetch(address)).status, 200);
});

// In every run the list of endpoints is what cannot be read.
if (inRound(false, true))
  test('files of what is not there cannot be listed, and that is said', async () => {
    await using visit = await browser.visit();
    await visit.page.goto(overview);
    const summary = visit.page.locator('summary').filter({ hasText: 'Files' });
    await summary.waitFor();
    await visit.page.route('**/doc/files/**', (route) =>
      route.fulfill({ status: 404, json: { Detail: 'There is no knowledge object' } }),
    );
    await summary.click();
    await visit.page.getByText(/^The files cannot be listed: .* answers 404$/).waitFor();
  });
