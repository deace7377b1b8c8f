/** The page of a knowledge object, for whoever wants to use it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { openFront } from './support/front.ts';
import { openService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

const MARKUP = `<img src=x onerror=alert(1)><script>alert(2)</script>`;
const naan = uniqueNaan();
const browser = await theBrowser();
const service = await openService();

const of = (version: string, code: string) =>
  javascriptKo(code, {
    ...{ naan, name: 'shown', version },
    apiVersion: version.slice(1),
    metadata: {
      title: `Title ${MARKUP}`,
      description: MARKUP,
      license: 'javascript:alert(3) https://other.invalid/a.',
    },
    files: {
      'page.html': MARKUP,
      'worked-examples.yaml':
        '- { name: It adds one, endpoint: /run, input: 1, expect: 2 }\n- { name: It is wrong, endpoint: /run, input: 1, expect: 3 }\n',
    },
  });
const old = of('v1.0', 'function run(input) {\n  return input + 2;\n}\n');
const ko = of(
  'v2.0',
  `function run(input) {\n  if (input === 0) throw new Error('${MARKUP}');\n  console.log('${MARKUP}');\n  return input + 1;\n}\n`,
);
await service.serve(old, ko);

test('its texts, files and answers are shown as text, and only links that lead to others can be followed', async () => {
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, `kos/${ko.id}`);
  await page.getByRole('heading', { name: 'Title <img' }).waitFor();
  const links = await page.evaluate<string[]>(`[...document.querySelectorAll('.facts a')].map((each) => each.href)`);
  assert.deepEqual(links, ['https://other.invalid/a']);
  await page.getByRole('link', { name: 'Files' }).click();
  await page.getByRole('link', { name: 'page.html' }).click();
  await page.getByRole('region', { name: 'Content of page.html' }).getByText(MARKUP).waitFor();
  assert.equal(await page.locator('main img, main script, main [onerror]').count(), 0);
  visit.assertQuiet(new URL(service.url).origin);
});

test('it is called by its form, and an answer or a failure stands with its place in the code', async () => {
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, `kos/${ko.id}/try`);
  await page.getByRole('textbox').first().fill('41');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('region', { name: 'Answer' }).getByText('42').waitFor();
  await page.getByRole('textbox').first().fill('0');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: /^It failed/ }).waitFor();
  await page.getByText('src/index.js:2').waitFor();
  await page.getByRole('link', { name: 'Log', exact: true }).click();
  const log = page.getByRole('log');
  await log.getByText('src/index.js:2').waitFor();
  await log.getByText(MARKUP, { exact: true }).waitFor();
  assert.equal(await page.locator('main img, main script, main [onerror]').count(), 0);
  visit.assertQuiet(new URL(service.url).origin);
});

test('its worked examples are run, and two versions are compared line by line', async () => {
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, `kos/${ko.id}/examples`);
  await page.getByRole('button', { name: 'Run all' }).click();
  await page.getByText('1 of 2 as expected').waitFor();
  await page.getByText('expected 3, got 2').waitFor();
  await page.getByRole('link', { name: 'Versions' }).click();
  await page.getByLabel('What changed since').selectOption('v1.0');
  await page.getByRole('button', { name: 'Lines of src/index.js' }).click();
  await page.getByRole('row', { name: /added return input \+ 1/ }).waitFor();
});

test('what there is not is said, with a way on', async () => {
  await using visit = await browser.visit();
  for (const place of ['kos/no/such/v1.0', 'kos/no', 'nowhere', `kos/${ko.id}/nothing`]) {
    const page = await openFront(visit, service.url, place);
    await page
      .locator('main')
      .getByText(/There is no such|has an id such as/)
      .waitFor();
    assert.ok((await page.locator('main a').count()) > 0, place);
    assert.equal(await page.getByRole('button', { name: 'Activate' }).count(), 0);
    await page.goto('about:blank');
  }
});
