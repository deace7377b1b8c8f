import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRound, longTest } from '../support/round.ts';
import { execute, openEditor } from './support/editor.ts';
import { exampleService } from './support/services.ts';
import { sidewaysOf } from './support/measure.ts';
import { DESKTOP, NARROW, theBrowser } from './support/visit.ts';

const service = await exampleService();
const browser = await theBrowser();

// In every run a form with an answer is measured at 320 px in the dark.
if (inRound(false, true))
  test('with a call that was changed and answered, nothing is cut off or covered on a narrow screen', async () => {
    await using visit = await browser.visit();
    const { page } = visit;
    await openEditor(page, service.url, '/kos/cpic/warfarin/v1.0/service.yaml');
    await execute(page, 'dose', '{"age": "none"}');
    for (const size of NARROW) {
      await page.setViewportSize(size);
      assert.equal(await sidewaysOf(page), 0, `at ${size.width}`);
      const outside = await page.evaluate<string[]>(`[...document.querySelectorAll('.opblock :is(select, pre, button)')]
      .filter((each) => each.getBoundingClientRect().left < 0 || each.getBoundingClientRect().right > innerWidth)
      .map((each) => each.outerHTML.slice(0, 80))`);
      assert.deepEqual(outside, [], `at ${size.width}`);
      const answer = await page.locator('.live-responses-table pre').first().boundingBox();
      const download = await page.getByRole('button', { name: 'Download' }).boundingBox();
      assert.ok(answer && download && download.y + download.height <= answer.y, 'Download covers nothing');
      assert.ok(answer.width > size.width * 0.7, `the answer has ${answer.width} of ${size.width}`);
      assert.equal(await page.getByText('No links').first().isVisible(), false);
      const select = await page.getByLabel('Media Type').first().boundingBox();
      assert.ok(select !== null && select.width > 160, `application/json has ${select?.width} px`);
    }
  });

longTest(
  'on a desk, what stands above the form begins where the form does, and lines have a readable length',
  async () => {
    await using visit = await browser.visit(DESKTOP);
    const { page } = visit;
    await openEditor(page, service.url, '/kos/demo/broken/v1.0/service.yaml');
    const left = async (selector: string): Promise<number> =>
      (await page.locator(selector).first().boundingBox())?.x ?? 0;
    const edges = await Promise.all(['nav a', '#notes', '.info .title', '.opblock'].map(left));
    assert.equal(new Set(edges).size, 1, edges.join(', '));
    for (const text of ['#notes li', '.info .renderedMarkdown']) {
      const box = await page.locator(text).first().boundingBox();
      assert.ok(box !== null && box.width < 720, `${text}: ${box?.width} px`);
    }
  },
);
