/** A bad day of an operator: a wrong replacement, a way back, a deletion. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { logIn, openFront } from './support/front.ts';
import { securedService, USER } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

const naan = uniqueNaan();
const browser = await theBrowser();
const service = await securedService();
const of = (answer: string, name = 'score') => javascriptKo(`function run() { return '${answer}'; }`, { naan, name });
const call = async (name = 'score'): Promise<unknown> =>
  (await service.post(`/${naan}/${name}/1.0/run`, {})).object['result'];
const shown = (page: Page) => page.locator('main');

test('a login is asked for on a page, refused with a reason, shown as a chip, and given up', async () => {
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, 'health');
  await page.getByText('Health needs a login.').waitFor();
  await logIn(page, 'wrong');
  await page.getByText('This login is not accepted.').waitFor();
  await logIn(page);
  await page.getByRole('heading', { name: 'What should run and does not' }).waitFor();
  assert.equal(await page.locator('.chip').innerText(), `${USER}\nLog out`);
  assert.equal(await page.getByLabel('Password').count(), 0);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('link', { name: 'Log in' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Health' }).count(), 0);
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

test('what runs is what is shown: a wrong replacement is seen, compared and rolled back, and that runs at once', async () => {
  const [good, bad] = [of('good'), of('bad')];
  await service.serve(good);
  await service.add(bad);
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, `kos/${good.id}/history`);
  await logIn(page);
  await page.getByText('Another package runs than the one on the shelf').waitFor();
  assert.equal(await call(), 'good');
  await page.getByRole('button', { name: 'Activate what is on the shelf' }).click();
  await page.getByText(/the one that runs/).waitFor();
  assert.equal(await call(), 'bad');
  await page.goto(`${service.url}/#/kos/${good.id}/history`);
  await page.getByRole('row', { name: /removed function run\(\) \{ return 'good'/ }).waitFor();
  await page.getByRole('button', { name: /^Roll back/ }).click();
  await page.getByRole('row', { name: new RegExp(`restored ${USER}`) }).waitFor();
  await page.getByText(/the one that runs/).waitFor();
  assert.equal(await call(), 'good');
});

test('Delete ends the calls too unless they are left to go on, asks with the focus on Cancel, and is undone', async () => {
  const [ended, goes] = [of('ended', 'ended'), of('goes', 'goes')];
  await service.serve(ended, goes);
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, `kos/${ended.id}`);
  await page.getByRole('link', { name: 'Log in' }).click();
  await logIn(page);
  await page.getByRole('button', { name: 'Delete…' }).click();
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await shown(page).getByText('There is no such knowledge object here').waitFor();
  assert.equal(await call('ended'), undefined);
  await page.getByRole('button', { name: /^Undo/ }).click();
  await page.getByText('is on the shelf again and activated').waitFor();
  assert.equal(await call('ended'), 'ended');

  await page.goto(`${service.url}/#/kos/${goes.id}`);
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: /^Delete, but let calls go on/ }).click();
  await shown(page).getByText('It was deleted from the shelf, and still answers calls').waitFor();
  assert.equal(await call('goes'), 'goes');
  await page.getByRole('button', { name: 'Stop it' }).click();
  await shown(page).getByText('There is no such knowledge object here').waitFor();
  assert.equal(await call('goes'), undefined);
  await page.getByRole('link', { name: 'what was deleted or replaced' }).click();
  await page.getByRole('button', { name: `Restore ${goes.id}` }).click();
  await shown(page).getByText('is on the shelf again and activated').waitFor();
  assert.equal(await call('goes'), 'goes');
});

test('who changed what is seen, and what needs no login any more asks for none', async () => {
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, 'activity');
  await logIn(page);
  await page.getByLabel('Filter').fill(`${naan}/goes`);
  await page
    .getByRole('row', { name: /restore/ })
    .first()
    .waitFor();
  visit.assertQuiet(new URL(service.url).origin);
});
