import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, welcomeKo, zipOf } from '../acceptance/support/ko.ts';
import { openService } from '../pages/support/services.ts';
import { inRound, longTest } from '../support/round.ts';
import { theBrowser } from '../pages/support/visit.ts';
import { assertSafe, assertUsable, openConsole, underLoad } from './support/console.ts';

const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const PAGE = 25;
const naan = uniqueNaan();
const browser = await theBrowser();
const service = await openService();

const many = Array.from({ length: PAGE + 5 }, (_, i) => welcomeKo({ naan, name: `many${String(i).padStart(2, '0')}` }));
await service.add(...many);

const CODE = `function run(input) {
  console.log('printed ${MARKUP}');
  console.warn('a warning');
  if (input.fail) throw new Error('failed ${MARKUP}');
  return { sum: (input.a ?? 0) + 1, note: '${MARKUP}' };
}`;
const example = (name: string, rest: string): string =>
  `- name: '${name}'\n  endpoint: /run\n  input: { a: 1 }\n  ${rest}\n`;
const odd = javascriptKo(CODE, {
  naan,
  name: 'odd',
  metadata: { title: `Odd ${MARKUP}`, description: MARKUP, keywords: [MARKUP], contributors: MARKUP },
  files: {
    [`${MARKUP.replaceAll('/', '')}.txt`]: `${MARKUP}\nsecond \u202eline`,
    'picture.svg': `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(3)</script></svg>`,
    'page.html': MARKUP,
    'bytes.bin': Buffer.from([0, 1, 2]),
    'long.txt': 'a line\n'.repeat(60_000),
    'worked-examples.yaml':
      example(`right ${MARKUP}`, 'expect: { sum: 2 }') +
      example('wrong', 'expect: { sum: 3 }') +
      example('fails', `expectError: '${MARKUP}'`).replace('a: 1', 'fail: true'),
  },
});
const first = welcomeKo({
  naan,
  name: 'two',
  files: { 'gone.txt': 'gone', 'same.txt': 'same', 'lines.txt': 'a\nb\nc\n' },
});
const second = welcomeKo({
  naan,
  name: 'two',
  version: 'v2.0',
  apiVersion: '2.0',
  files: { 'new.txt': 'new', 'same.txt': 'same', 'lines.txt': 'a\nB\nc\n' },
});
await service.serve(odd, first, second);

const tab = async (page: Page, name: string): Promise<void> => {
  await page
    .getByRole('navigation', { name: /^Parts of/ })
    .getByRole('link', { name })
    .click();
  await page.getByRole('region', { name, exact: true }).waitFor();
};

longTest('the list shows a page at a time, leads on, and finds by words', async () => {
  await using visit = await browser.visit({ width: 320, height: 800 }, 'dark');
  const page = await openConsole(visit, service.url, `kos?q=${naan}`);
  const items = page.locator('.ko-items > li');
  await items.first().waitFor();
  const onFirst = await items.count();
  assert.ok(onFirst <= PAGE, `${onFirst} on one page`);
  await page.getByText('Page 1').waitFor();
  await assertUsable(page);
  await page.getByRole('button', { name: 'Next' }).press('Enter');
  await page.getByText('Page 2').waitFor();
  await items.filter({ hasText: `${naan}/two` }).waitFor();
  await page.getByLabel(/^Search/).fill('odd <img');
  await items.nth(1).waitFor({ state: 'detached' });
  await items.filter({ hasText: MARKUP }).waitFor();
  await items.getByText('1 endpoint active').waitFor();
  await page.getByLabel(/^Search/).fill('there is no such thing');
  await page.getByText('Nothing is found by this.').waitFor();
  assert.match(page.url(), /#\/kos\?q=there/);
  // Nobody reloads the page: it hears of it.
  await Promise.all([
    page.waitForResponse((each) => each.url().includes('later')),
    page.getByLabel(/^Search/).fill(`${naan}/later`),
  ]);
  await page.getByText('Nothing is found by this.').waitFor();
  await service.serve(welcomeKo({ naan, name: 'later' }));
  await items
    .filter({ hasText: `${naan}/later` })
    .getByText('1 endpoint active')
    .waitFor();
  assertSafe(visit, service.url);
});

test('whatever a knowledge object says stays text in each part of its view, at 320 px and in the dark', async () => {
  await using visit = await browser.visit({ width: 320, height: 800 }, 'dark');
  await using load = underLoad(service.url + pathOf(odd), { a: 1 });
  await service.post(pathOf(odd), { fail: true });
  const page = await openConsole(visit, service.url, `kos/${odd.id}`);
  await page.getByRole('heading', { level: 1, name: `Odd ${MARKUP}` }).waitFor();
  await page.locator('.ko-description').filter({ hasText: MARKUP }).waitFor();
  await assertUsable(page);
  await tab(page, 'Files');
  const files = page.getByRole('list', { name: `Files of ${odd.id}` });
  for (const [name, shown] of [
    [`${MARKUP.replaceAll('/', '')}.txt`, `${MARKUP}\nsecond \\u202eline`],
    ['page.html', MARKUP],
  ] as const) {
    await files.getByRole('link', { name, exact: true }).click();
    const text = page.locator(`.ko-text[aria-label="Content of ${name}"]`);
    assert.equal((await text.textContent())?.trim(), shown);
  }
  await files.getByRole('link', { name: 'long.txt' }).click();
  await page.getByText(/^Only the first 260 kB are shown/).waitFor();
  assert.ok((await page.locator('.ko-line').count()) <= 5000);
  await files.getByRole('link', { name: 'bytes.bin' }).click();
  await page.getByText('This is no text').waitFor();
  await files.getByRole('link', { name: 'picture.svg' }).click();
  await page.getByRole('img', { name: 'Picture picture.svg' }).waitFor();
  await assertUsable(page);
  for (const name of ['Versions', 'Examples', 'Calls', 'Log']) {
    await tab(page, name);
    await assertUsable(page);
  }
  await tab(page, 'Calls');
  const called = page.getByRole('table', { name: 'Endpoints that were called' }).getByRole('row').last();
  assert.match(await called.innerText(), /^run\s+javascript\s+\d+\s+1\b/);
  await page
    .getByRole('table', { name: /^Failed calls/ })
    .getByText(`failed ${MARKUP}`)
    .waitFor();
  await tab(page, 'Log');
  await page.getByRole('log').getByText(`printed ${MARKUP}`).first().waitFor();
  assert.ok(load.answered() > 0);
  assert.equal(await page.locator('main script, main [onerror], main img').count(), 0, 'nothing became markup');
  assertSafe(visit, service.url);
});

longTest('two versions are compared by files and lines', async () => {
  await using visit = await browser.visit();
  const page = await openConsole(visit, service.url, `kos/${second.id}/versions`);
  await page.getByLabel('What changed since').selectOption('v1.0');
  const table = page.getByRole('table', { name: 'Files that differ from v1.0 to v2.0' });
  await table.waitFor();
  const rows = await table.locator('tbody tr').allInnerTexts();
  assert.deepEqual(
    rows.map((row) => row.split('\t').slice(0, 2).join(' ')),
    ['gone.txt removed', 'lines.txt changed', 'metadata.json changed', 'new.txt added', 'service.yaml changed'],
  );
  await page.getByRole('button', { name: 'Lines of lines.txt' }).click();
  await page.getByRole('region', { name: 'Lines of lines.txt that differ' }).waitFor();
  const lines = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.ko-diff tbody tr')].map((row) => row.dataset.change + ' ' + row.querySelector('code').textContent)`,
  );
  assert.deepEqual(lines, ['same a', 'removed b', 'added B', 'same c']);
  assertSafe(visit, service.url);
});

longTest('worked examples are run, one or all, and each says whether it is the same', async () => {
  await using visit = await browser.visit();
  const page = await openConsole(visit, service.url, `kos/${odd.id}/examples`);
  await page.getByRole('button', { name: 'Run wrong' }).click();
  const item = (name: string) =>
    page.getByRole('region', { name: 'Examples' }).getByRole('listitem').filter({ hasText: name }).first();
  await item('wrong').getByText('sum: expected 3, got 2').waitFor();
  await page.getByRole('button', { name: 'Run all' }).click();
  await page.getByText('2 of 3 the same').waitFor();
  await item('right').getByText('same', { exact: true }).waitFor();
  await item('wrong').getByText('not the same').waitFor();
  assertSafe(visit, service.url);
});

longTest('its log follows, by level, and pauses', async () => {
  await using visit = await browser.visit();
  const ko = javascriptKo(`function run(input) { console.log(input.say); console.warn('warns'); return 1; }`, {
    naan,
    name: 'log',
  });
  await service.serve(ko);
  const page = await openConsole(visit, service.url, `kos/${ko.id}/log`);
  await page.getByText('It printed nothing.').waitFor();
  await service.post(pathOf(ko), { say: 'one' });
  await page.getByRole('log').getByText('one').waitFor();
  await page.getByLabel('Level').selectOption('warn');
  await page.getByRole('log').getByText('one').waitFor({ state: 'detached' });
  await page.getByRole('log').getByText('warns').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  const asked = visit.requests.length;
  await page.getByLabel('Level').selectOption('debug');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('log').getByText('one').waitFor();
  assert.ok(visit.requests.slice(asked).some((each) => each.includes('/actuator/logs/')));
  assertSafe(visit, service.url);
});

test('it is exported, deleted after a question, and comes back by undo or from the list of what was removed', async () => {
  await using visit = await browser.visit({ width: 320, height: 800 });
  const ko = welcomeKo({ naan, name: 'goes' });
  await service.serve(ko);
  const page = await openConsole(visit, service.url, `kos/${ko.id}`);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), `${naan}-goes-v1.0.zip`);
  const exported = await service.send('GET', `/kos/${ko.id}?format=zip`);
  const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  assert.equal(sha(await readFile(await download.path())), sha(exported.bytes));

  await page.getByRole('button', { name: 'Delete…' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: `Delete ${ko.id}?` });
  await dialog.waitFor();
  await assertUsable(page);
  await page.keyboard.press('Escape');
  // What it answers is known once it is gone, not when it is hidden.
  await page.locator('dialog').waitFor({ state: 'detached' });
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 200);
  await page.locator('button:focus', { hasText: 'Delete…' }).waitFor();
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: `Delete ${ko.id}` }).press('Enter');
  await page.getByText('It is not on the shelf.').waitFor();
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 404);
  await page.getByRole('link', { name: 'Knowledge objects', exact: true }).click();
  await page.getByRole('button', { name: `Undo the deletion of ${ko.id}` }).click();
  await page.getByText(`${ko.id} is on the shelf again.`).waitFor();
  assert.equal((await service.get(`/kos/${ko.id}`)).status, 200);
  await page.getByRole('button', { name: `Dismiss the note about ${ko.id}` }).click();

  await service.delete(`/kos/${ko.id}`);
  await page.getByText('Deleted or replaced').click();
  const row = page.getByRole('row', { name: new RegExp(`^${ko.id} deleted`) });
  await assertUsable(page);
  const restore = row.getByRole('button', { name: `Restore ${ko.id}` }).first();
  // Somebody was faster.
  await service.add(welcomeKo({ naan, name: 'goes', metadata: { description: 'of somebody else' } }));
  await restore.click();
  await row.getByText(/^It replaces what is there now/).waitFor();
  assert.match((await service.get(`/kos/${ko.id}`)).text, /of somebody else/);
  await restore.click();
  await page.getByText(`${ko.id} is on the shelf again`).waitFor();
  assert.doesNotMatch((await service.get(`/kos/${ko.id}`)).text, /of somebody else/);
  assertSafe(visit, service.url);
});

// In every run a restoration is refused for what somebody else changed.
if (inRound(false, true))
  test('what somebody else just changed is neither deleted nor overwritten by an undo', async () => {
    await using visit = await browser.visit();
    const ko = welcomeKo({ naan, name: 'shared' });
    const other = welcomeKo({ naan, name: 'shared', metadata: { description: 'of somebody else' } });
    await service.serve(ko);
    const page = await openConsole(visit, service.url, `kos/${ko.id}`);
    await page.locator('.ko-description').waitFor();
    const remove = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Delete…' }).click();
      await page
        .getByRole('dialog')
        .getByRole('button', { name: `Delete ${ko.id}` })
        .click();
    };
    // The page hears of it later: without a shared worker, whose requests no test can hold back.
    await visit.runFirst('delete globalThis.SharedWorker');
    await page.route('**/actuator/events**', (route) => route.abort());
    await page.reload();
    await page.locator('.ko-description').waitFor();
    await service.add(other);
    assert.equal(await page.locator('.ko-description').filter({ hasText: 'of somebody else' }).count(), 0);
    await remove();
    await page.getByText(/^Somebody changed it since you looked/).waitFor();
    await page.locator('.ko-description').filter({ hasText: 'of somebody else' }).waitFor();
    await remove();
    await page.getByText('It is not on the shelf.').waitFor();
    await service.importZip(await zipOf(ko.files));
    await page.getByRole('button', { name: /^Undo/ }).click();
    await page.getByText(/was added again meanwhile/).waitFor();
    assert.doesNotMatch((await service.get(`/kos/${ko.id}`)).text, /of somebody else/);
  });
