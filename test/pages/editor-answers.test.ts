import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { execute, openEditor } from './support/editor.ts';
import { exampleService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

const WARFARIN = '/kos/cpic/warfarin/v1.0/service.yaml';
const service = await exampleService();
const browser = await theBrowser();
const answered = (page: Page) => page.locator('.live-responses-table');

test('of one form that is called again and again', async (t) => {
  await using visit = await browser.visit();
  const { page } = visit;
  await openEditor(page, service.url, WARFARIN);
  await t.test('the result stands first, then the whole answer, then what was sent', async () => {
    const { answer } = await execute(page, 'dose');
    const operation = page.locator('.opblock');
    const shown = operation.locator('.result .highlight-code code').first();
    assert.deepEqual(JSON.parse(await shown.innerText()), answer['result']);
    const whole = operation.locator('.whole-answer code');
    assert.equal(await whole.isVisible(), false);
    await operation.getByText('Whole answer, with the metadata of the knowledge object').press('Enter');
    assert.match(await whole.innerText(), /"info": \{/);
    const top = async (selector: string): Promise<number> =>
      (await operation.locator(selector).first().boundingBox())?.y ?? NaN;
    const places = await Promise.all(['.result', '.whole-answer', '.curl', '.request-url'].map(top));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      places.join(', '),
    );
  });

  await t.test('an earlier answer goes when the input changes, and the field keeps the focus', async () => {
    await execute(page, 'dose');
    const field = page.getByLabel('Request body');
    await field.press('End');
    await field.press('Space');
    await answered(page).waitFor({ state: 'detached' });
    assert.equal(await page.locator('.curl').count(), 0);
    assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Request body');
    const { status } = await execute(page, 'dose');
    assert.equal(status, 200);
  });

  await t.test('an answer that comes after its input was changed is not left beside another input', async () => {
    const gate = Promise.withResolvers<undefined>();
    await page.route('**/cpic/warfarin/1.0/dose', async (route) => {
      await gate.promise;
      await route.continue();
    });
    await page.locator('.execute').click();
    await page.locator('.loading').waitFor({ state: 'attached' });
    await page.getByLabel('Request body').press('Space');
    const came = page.waitForResponse('**/cpic/warfarin/1.0/dose');
    gate.resolve(undefined);
    await came;
    await page.locator('.loading').waitFor({ state: 'detached' });
    await answered(page).waitFor({ state: 'detached' });
    await page.unrouteAll({ behavior: 'wait' });
    assert.equal((await execute(page, 'dose')).status, 200);
  });

  await t.test('an empty body says so, and Execute leads there', async () => {
    const said = page.getByText('The request body is empty: type the input of the call.');
    const field = page.getByLabel('Request body');
    assert.equal(await said.count(), 0);
    await field.fill('');
    await said.waitFor();
    await page.locator('.execute').focus();
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.ariaLabel'), 'Request body');
    assert.equal(await answered(page).count(), 0);
    await field.fill('{}');
    await said.waitFor({ state: 'detached' });
  });
  visit.assertQuiet(service.url);
});
