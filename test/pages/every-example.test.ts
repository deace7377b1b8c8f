/** One round through the examples, of all only in `npm run test:pages`, since each form takes the browser a while: they are called, and fit on narrow screens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { JsonObject } from '../acceptance/support/client.ts';
import { koKey } from '../../src/knowledge-object/id.ts';
import { parseMetadata } from '../../src/knowledge-object/metadata.ts';
import { inRound } from '../support/round.ts';
import { execute } from './support/editor.ts';
import { exampleService } from './support/services.ts';
import { sidewaysOf } from './support/measure.ts';
import { DESKTOP, NARROW, theBrowser } from './support/visit.ts';

const service = await exampleService();
const browser = await theBrowser();
const endpoints = (await service.get('/endpoints')).list;
const all = [...new Set(endpoints.map((each) => String(each['knowledgeObject'])))];
/** One of files, and one that has a newer version. */
const PARTICULAR = ['nephrology/ckdcategories/v1.0', 'nephrology/ckdepi/v1.0'];
/** The second one is called below a path in every run. */
const CALLED = inRound(PARTICULAR.slice(0, 1), PARTICULAR);
const kos = inRound(
  all.filter((ko) => CALLED.some((each) => ko.endsWith(each))),
  all,
);

test('every example', async (t) => {
  await using visit = await browser.visit();
  const { page } = visit;
  await page.goto(service.url);
  await page.locator('#list > li').first().waitFor();
  const links = await page.evaluate<string[]>(
    `[...document.querySelectorAll('a[href^="doc?url="]')].map((each) => each.href)`,
  );
  assert.ok(all.length > 20, `${all.length} examples`);
  const called: string[] = [];
  for (const path of kos) {
    const declared = endpoints.filter((each) => each['knowledgeObject'] === path);
    const own = declared.filter((each) => each['status'] === 'ACTIVATED');
    await t.test(path, async () => {
      const descriptor = `${service.url}/doc?url=${String(declared[0]?.['hasServiceSpecification'])}`;
      if (own.length > 0) assert.equal(links.filter((each) => each === descriptor).length, 1, 'the overview links it');
      await page.goto(descriptor);
      await page.locator('.opblock').first().waitFor();
      for (const endpoint of own) called.push(await callAsShown(page, path, endpoint));
      await openAll(page);
      for (const size of inRound(NARROW.slice(0, 1), NARROW)) {
        await page.setViewportSize(size);
        assert.equal(await sidewaysOf(page), 0, `it cannot be scrolled sideways at ${size.width}`);
      }
      await page.setViewportSize(DESKTOP);
    });
  }
  const active = endpoints.filter(
    (each) => each['status'] === 'ACTIVATED' && kos.includes(String(each['knowledgeObject'])),
  );
  assert.equal(called.length, active.length);
  for (const ko of CALLED)
    assert.ok(
      called.some((each) => each.startsWith(ko.replace('/v', '/'))),
      ko,
    );
  visit.assertQuiet(service.url);
});

/** Executes an endpoint with the example that is filled in: its own version answers. */
async function callAsShown(page: Page, path: string, endpoint: JsonObject): Promise<string> {
  assert.equal(await page.title(), `${String(endpoint['title'])} · KGrid Activator`);
  const id = String(endpoint['@id']);
  const { status, url, answer } = await execute(page, id.split('/').slice(3).join('/'));
  assert.deepEqual([status, new URL(url).pathname], [200, `/${id}`], JSON.stringify(answer));
  assert.notEqual(answer['result'] ?? null, null, id);
  const { ko } = answer['info'] as { ko: { '@id': string } };
  assert.equal(`/kos/${koKey(parseMetadata(JSON.stringify(ko)).id)}`, path);
  return id;
}

async function openAll(page: Page): Promise<void> {
  const closed = page.locator('.opblock-summary-control[aria-expanded=false]');
  while ((await closed.count()) > 0) await closed.first().click();
  await page.locator('.execute').last().waitFor();
}
