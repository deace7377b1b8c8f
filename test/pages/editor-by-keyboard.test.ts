import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { openEditor } from './support/editor.ts';
import { exampleService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';
import { longTest } from '../support/round.ts';

const service = await exampleService();
const browser = await theBrowser();

interface Stop {
  readonly name: string;
  readonly width: number;
  readonly outline: string;
}

const focused = (page: Page): Promise<Stop> =>
  page.evaluate(`(() => {
    const { activeElement: at } = document;
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    return {
      name: at.getAttribute('aria-label') ?? at.innerText.trim(),
      width: at.getBoundingClientRect().width,
      outline: outlineStyle === 'none' ? 'none' : outlineWidth,
    };
  })()`);

async function tab(page: Page): Promise<Stop> {
  await page.keyboard.press('Tab');
  return focused(page);
}

longTest('of one form, by the keyboard alone', async (t) => {
  await using visit = await browser.visit();
  const { page } = visit;
  await openEditor(page, service.url, '/kos/cpic/warfarin/v1.0/service.yaml');
  await t.test(
    'every stop of the keyboard up to Execute has a name and a width, and the text of the request is one',
    async () => {
      await page.locator('.execute').waitFor();
      const stops: Stop[] = [];
      while (stops.at(-1)?.name !== 'Execute' && stops.length < 30) stops.push(await tab(page));
      const names = stops.map(({ name }) => name);
      assert.deepEqual(names.slice(names.findIndex((each) => each.startsWith('POST')) + 1), [
        'Cancel',
        'Request content type',
        'Edit Value',
        'Schema',
        'Request body',
        'Execute',
      ]);
      assert.deepEqual(
        stops.filter(({ width }) => width < 8),
        [],
      );
      assert.equal(stops.find(({ name }) => name === 'Request body')?.outline, '3px');
    },
  );

  await t.test(
    'the focus stays on Execute while a call runs, when it was answered and when it is cleared, and one press is one call',
    async () => {
      const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>();
      let calls = 0;
      await page.route('**/cpic/warfarin/1.0/dose', async (route) => {
        calls++;
        await answered;
        await route.continue();
      });
      await page.locator('.execute').focus();
      await page.keyboard.press('Enter');
      await page.locator('.loading').waitFor({ state: 'attached' });
      await page.keyboard.press('Enter');
      // Drawn twice: a button that was disabled has lost the focus by then.
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      assert.equal((await focused(page)).name, 'Execute');
      answer(undefined);
      await page.locator('.live-responses-table').waitFor();
      assert.equal((await focused(page)).name, 'Execute');
      assert.equal(calls, 1);
      assert.equal((await tab(page)).name, 'Clear');
      await page.keyboard.press('Enter');
      await page.locator('.live-responses-table').waitFor({ state: 'detached' });
      assert.equal((await focused(page)).name, 'Execute');
    },
  );
});
