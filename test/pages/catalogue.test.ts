/** A first visit: what this is, what there is, and how one finds it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { assertUsable, openFront } from './support/front.ts';
import { exampleService, openService, securedService } from './support/services.ts';
import { PHONE, theBrowser } from './support/visit.ts';

const browser = await theBrowser();
const [examples, open, secured] = await Promise.all([exampleService(), openService(), securedService()]);

test('a visitor reads what this is, sees no login that is not needed, and finds by words and by state', async () => {
  const service = examples;
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url);
  await page.getByText('A knowledge object is a piece of medical knowledge').waitFor();
  const items = page.getByRole('list', { name: 'Knowledge objects' }).locator('> li');
  await items.first().waitFor();
  // What failed comes first for those who may mend it, as everybody may in the dev profile.
  await items.first().getByText('failed').waitFor();
  await page.getByRole('searchbox').fill('CKDepi');
  await page.getByText(/\d+ of \d+ knowledge objects/).waitFor();
  await items.getByText('CKD-EPI creatinine equation 2021').waitFor();
  assert.match(page.url(), /#\/\?q=CKDepi$/);
  await page.reload();
  await page.getByText(/\d+ of \d+ knowledge objects/).waitFor();
  await page.getByRole('searchbox').fill('nothing has this name');
  await page.getByText('Nothing is found by this.').waitFor();
  await page.getByRole('searchbox').fill('');
  await page.getByLabel('State').selectOption('failed');
  await items.getByText('demo/broken').waitFor();
  await items.getByText('CKD-EPI creatinine equation 2021').waitFor({ state: 'detached' });
  visit.assertQuiet(new URL(service.url).origin);
});

test('without a login nothing is drawn that needs one', async () => {
  const service = secured;
  const ko = welcomeKo({ naan: uniqueNaan(), name: 'seen' });
  await service.serve(ko);
  await using visit = await browser.visit(PHONE, 'dark');
  const page = await openFront(visit, service.url, `kos/${ko.id}`);
  await page.getByRole('link', { name: 'Versions' }).waitFor();
  assert.equal(await page.getByRole('button').count(), 0);
  assert.equal(await page.getByRole('link', { name: /^(?:Health|Add|Activity|History|Log|Calls)$/ }).count(), 0);
  assert.equal(await page.getByRole('alert').count(), 0);
  assert.deepEqual(
    visit.requests.filter((url) => new URL(url).pathname.startsWith('/actuator')),
    [],
  );
  await assertUsable(page);
});

test('the keyboard alone leads to a knowledge object, in the order of the page', async () => {
  const service = open;
  const ko = welcomeKo({ naan: uniqueNaan(), name: 'keys', metadata: { title: 'By keys' } });
  await service.serve(ko);
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, `?q=${ko.naan}`);
  await page.getByRole('link', { name: 'By keys' }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content');
  await page.keyboard.press('Enter');
  for (const name of ['Search', 'State', 'Add', 'By keys']) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate<string>(
      '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()',
    );
    assert.ok(at.startsWith(name), `${at} instead of ${name}`);
    const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle');
    assert.notEqual(outline, 'none', name);
  }
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'By keys' }).waitFor();
  assert.equal(await page.evaluate('document.activeElement.id'), 'main');
});

test('an old address of the console leads to the same place of the front', async () => {
  const service = open;
  const ko = welcomeKo({ naan: uniqueNaan(), metadata: { title: 'Still there' } });
  await service.serve(ko);
  await using visit = await browser.visit();
  await visit.page.goto(`${service.url}/console#/kos/${ko.id}`);
  await visit.page.getByRole('heading', { name: 'Still there' }).waitFor();
  await visit.page.goto(`${service.url}/doc?ko=${ko.id}`);
  await visit.page.getByRole('heading', { name: 'Still there' }).waitFor();
});
