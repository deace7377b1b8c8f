import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { openService } from './support/services.ts';
import { NEXT_LOOK_MS, theBrowser } from './support/visit.ts';
import { longTest } from '../support/round.ts';

const naan = uniqueNaan();
const browser = await theBrowser();
const service = await openService();
await service.serve(welcomeKo({ naan, name: 'b' }), welcomeKo({ naan, name: 'c' }));

const heading = (page: Page, name: string) => page.getByRole('heading', { name: `Title of ${name} ${naan}` });

test('the list follows by itself, and what did not change keeps its place, its focus and what was opened', async () => {
  await using visit = await browser.visitWithClock();
  const { page } = visit;
  await page.goto(`${service.url}/?q=${naan}`);
  const files = page.getByLabel(`Files: Title of c, ${naan}/c/v1.0`);
  await files.click();
  const link = page.getByRole('link', { name: 'service.yaml', exact: true });
  await link.focus();
  await page.evaluate(`document.activeElement.closest('#list > li').isTheSame = true`);
  const place = (): Promise<boolean> =>
    page.evaluate(`document.activeElement.textContent === 'service.yaml'
      && document.activeElement.closest('#list > li').isTheSame === true`);

  await service.serve(welcomeKo({ naan, name: 'd' }));
  await page.clock.fastForward(NEXT_LOOK_MS);
  await heading(page, 'd').waitFor();
  assert.ok(await place(), 'a card came after it');
  await service.serve(welcomeKo({ naan, name: 'a' }));
  await page.clock.fastForward(NEXT_LOOK_MS);
  await heading(page, 'a').waitFor();
  assert.ok(await place(), 'a card came before it');
  await service.delete(`/kos/${naan}/b/v1.0`);
  await service.get('/actuator/activation/reload');
  await page.clock.fastForward(NEXT_LOOK_MS);
  await heading(page, 'b').waitFor({ state: 'detached' });
  // It was activated again, and its files stay open.
  await link.waitFor();
  const titles = await page.getByRole('heading', { level: 2 }).allInnerTexts();
  assert.deepEqual(
    titles,
    ['a', 'c', 'd'].map((name) => `Title of ${name} ${naan}/${name}/v1.0`),
  );
  visit.assertQuiet(service.url);
});

longTest('whoever looks costs one small answer, and whoever does not look costs nothing', async () => {
  await using visit = await browser.visitWithClock();
  const { page } = visit;
  await visit.runFirst(`
    window.isHidden = false;
    Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
  `);
  const asked = (path: string): number => visit.requests.filter((url) => url.endsWith(path)).length;
  const unchanged = (): Promise<unknown> =>
    page.waitForResponse((answer) => answer.url().endsWith('/doc/overview.json') && answer.status() === 304);
  await page.goto(service.url);
  await heading(page, 'c').waitFor();
  const lists = asked('/endpoints') + asked('/kos');
  for (let i = 0; i < 3; i++) await Promise.all([unchanged(), page.clock.fastForward(NEXT_LOOK_MS)]);
  assert.equal(asked('/endpoints') + asked('/kos'), lists);

  await page.evaluate('window.isHidden = true');
  await page.clock.fastForward(NEXT_LOOK_MS);
  const before = asked('/doc/overview.json');
  for (let i = 0; i < 5; i++) await page.clock.fastForward(60_000);
  assert.equal(asked('/doc/overview.json'), before);
  await Promise.all([
    unchanged(),
    page.evaluate(`window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))`),
  ]);
  visit.assertQuiet(service.url);
});

longTest('what is searched for stands in the address, and is there after a visit elsewhere', async () => {
  await using visit = await browser.visit();
  const { page } = visit;
  const search = `${naan}/d/`;
  const shown = page.locator('#list ul > li').filter({ hasText: 'POST' });
  await page.goto(`${service.url}/?q=${naan}%2Fc&status=ACTIVATED`);
  await heading(page, 'c').waitFor();
  assert.equal(await shown.count(), 1);
  assert.deepEqual(
    [await page.getByLabel('Search').inputValue(), await page.getByLabel('Status').inputValue()],
    [`${naan}/c`, 'ACTIVATED'],
  );
  await page.getByLabel('Search').fill('title of d & <b>');
  assert.equal(await page.evaluate(`new URLSearchParams(location.search).get('q')`), 'title of d & <b>');
  await page.getByLabel('Search').fill(search);
  await page.getByRole('link', { name: 'Try it' }).click();
  await page.locator('.opblock').first().waitFor();
  await page.goBack();
  await heading(page, 'd').waitFor();
  assert.equal(await page.getByLabel('Search').inputValue(), search);
  assert.equal(await shown.count(), 1);
  await page.getByLabel('Search').fill('');
  await page.getByLabel('Status').selectOption('all');
  assert.equal(await page.evaluate('location.href'), `${service.url}/`);
  await page.goto(`${service.url}/?q=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E&status=none`);
  await page.getByText('0 match').waitFor();
  assert.equal(await page.locator('img').count(), 0);
  visit.assertQuiet(service.url);
});
