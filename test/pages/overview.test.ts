import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { inRound, longTest } from '../support/round.ts';
import { exampleService } from './support/services.ts';
import { measure } from './support/measure.ts';
import { DESKTOP, PHONE, theBrowser } from './support/visit.ts';

const service = await exampleService();
const browser = await theBrowser();
const endpoints = (await service.get('/endpoints')).list;

async function open(page: Page): Promise<void> {
  await page.goto(service.url);
  await page.locator('#list > li').first().waitFor();
}

test('every endpoint is listed with title, id of the knowledge object, engine, status in words, and why it failed', async () => {
  await using visit = await browser.visit();
  await open(visit.page);
  const cards = visit.page.locator('#list > li');
  assert.equal(await visit.page.locator('#list ul > li').count(), endpoints.length);
  assert.ok(endpoints.length > 20, 'the examples are served');
  for (const endpoint of endpoints) {
    const path = String(endpoint['knowledgeObject']);
    const card = cards.filter({ has: visit.page.locator(`a[href="${path.slice(1)}"]`) });
    const heading = await card.locator('h2').innerText();
    const place = path.slice('/kos/'.length);
    const atId = String((await service.get(path)).object['@id']);
    const ids = atId === place ? [place] : [place, atId];
    assert.equal(heading, [String(endpoint['title']), ...ids].join(' '));
    const method = endpoint['engine'] === 'resource' ? 'GET' : 'POST';
    const address = visit.page.getByText(`${method} /${String(endpoint['@id'])}`, { exact: true });
    const item = await card.locator('ul > li').filter({ has: address }).innerText();
    assert.ok(item.includes(String(endpoint['engine'])), item);
    assert.ok(item.startsWith(endpoint['status'] === 'ACTIVATED' ? 'active' : 'failed'), item);
    const detail = endpoint['status'] === 'ACTIVATED' ? '' : String(endpoint['detail']);
    assert.ok(item.includes(detail), item);
  }
  const active = endpoints.filter((each) => each['status'] === 'ACTIVATED').length;
  const counts = `${active} of ${endpoints.length} endpoints active, ${endpoints.length - active} failed`;
  assert.equal(await visit.page.getByRole('status').innerText(), counts);
  visit.assertQuiet(service.url);
});

longTest('every link answers 200, and packages are zip files', async () => {
  await using visit = await browser.visit();
  await open(visit.page);
  const addresses = await visit.page.evaluate<string[]>(
    `[...document.querySelectorAll('a:not(.skip)')].map((each) => each.href)`,
  );
  assert.ok(addresses.length > 80, `${addresses.length} links`);
  for (const address of new Set(addresses)) {
    const answer = await fetch(address);
    assert.equal(answer.status, 200, address);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (address.endsWith('?format=zip')) assert.equal(String.fromCharCode(...bytes.slice(0, 2)), 'PK', address);
  }
  for (const text of ['Try it', 'Service descriptor', 'Metadata', 'Package'])
    assert.ok((await visit.page.getByText(text, { exact: true }).count()) > 15, text);
});

test('search and status narrow the list, and the number that is left is said', async () => {
  await using visit = await browser.visit();
  await open(visit.page);
  const { page } = visit;
  const shown = page.locator('#list ul > li');
  await page.getByLabel('Search').fill('CKDepi');
  assert.equal(await shown.count(), 2);
  assert.match(await page.getByRole('status').innerText(), /2 match$/);
  await page.getByLabel('Search').fill('nothing has this name');
  assert.equal(await shown.count(), 0);
  assert.match(await page.getByRole('status').innerText(), /0 match$/);
  await page.getByLabel('Search').fill('');
  await page.getByLabel('Status').selectOption('failed');
  const failed = endpoints.filter((each) => each['status'] === 'FAILED_TO_ACTIVATE').length;
  assert.equal(await shown.count(), failed);
  assert.deepEqual(new Set(await shown.locator('.status').allInnerTexts()), new Set(['failed']));
  await page.getByLabel('Search').fill('demo/broken');
  assert.equal(await shown.count(), 2);
});

longTest('the keyboard alone reaches everything, in the order of the page and with a visible focus', async () => {
  await using visit = await browser.visit();
  await open(visit.page);
  const { page } = visit;
  const focus = (): Promise<{ name: string; outline: number; inView: boolean }> =>
    page.evaluate(`(() => {
      const { activeElement: at } = document;
      const { top, bottom, left } = at.getBoundingClientRect();
      return {
        name: at.name || at.getAttribute('aria-label') || at.textContent,
        outline: getComputedStyle(at).outlineStyle === 'none' ? 0 : parseFloat(getComputedStyle(at).outlineWidth),
        inView: top >= 0 && left >= 0 && bottom <= innerHeight,
      };
    })()`);
  const tab = async (): Promise<string> => {
    await page.keyboard.press('Tab');
    const { name, outline, inView } = await focus();
    assert.ok(outline >= 2, `${name}: the focus is visible`);
    assert.ok(inView, `${name}: is in view`);
    return name;
  };
  assert.equal(await tab(), 'Skip to the endpoints');
  assert.equal(await tab(), 'q');
  await page.keyboard.type('body mass');
  assert.equal(await page.locator('#list ul > li').count(), 2);
  assert.equal(await tab(), 'status');
  await page.keyboard.press('a');
  assert.equal(await page.locator('select').inputValue(), 'ACTIVATED');
  const of = 'Body mass index and body surface area, anthropometry/bodysize/1.0';
  for (const text of ['Try it', 'Service descriptor', 'Metadata', 'Package', 'Files'])
    assert.equal(await tab(), `${text}: ${of}`);
  for (const text of ['Console', 'Endpoints as JSON']) assert.equal(await tab(), text);

  await open(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  assert.match(await tab(), /^Try it: Body mass index/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/doc\?url=\/kos\/anthropometry\/bodysize\/1\.0\/service\.yaml$/);
});

for (const [name, size] of Object.entries(inRound({ phone: PHONE }, { phone: PHONE, desk: DESKTOP }))) {
  test(`on a ${name} it is readable, labelled, and wide enough`, async () => {
    await using visit = await browser.visit(size);
    await open(visit.page);
    const { texts, headings, lang, title, ...bad } = await measure(visit.page);
    assert.ok(texts > 100, `${texts} elements with text`);
    assert.deepEqual(bad, { pale: [], small: [], low: [], sideways: 0, unlabelled: [] });
    assert.deepEqual([lang, title], ['en', 'KGrid Activator']);
    assert.deepEqual([headings[0], new Set(headings.slice(1))], [1, new Set([2])]);
    visit.assertQuiet(service.url);
  });
}
