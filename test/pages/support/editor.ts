/** What a person does in Swagger UI. */
import type { Locator, Page } from 'playwright-core';
import type { JsonObject } from '../../acceptance/support/client.ts';

export async function openEditor(page: Page, service: string, descriptor: string): Promise<void> {
  await page.goto(`${service}/doc?url=${descriptor}`);
  await page.locator('.opblock').first().waitFor();
}

export interface Executed {
  readonly status: number;
  readonly url: string;
  /** As the page shows it. */
  readonly answer: JsonObject;
}

/** Opens the operation at `/<path>`, changes the body where one is given, and presses Execute. */
export async function execute(page: Page, path: string, body?: string): Promise<Executed> {
  const operation = page
    .locator('.opblock')
    .filter({ has: page.locator(`[data-path="/${path}"]`) })
    .first();
  if ((await operation.locator('.execute').count()) === 0) await operation.locator('.opblock-summary-control').click();
  if (body !== undefined) await operation.locator('textarea').fill(body);
  const [response] = await Promise.all([
    page.waitForResponse((each) => each.request().resourceType() === 'fetch'),
    operation.locator('.execute').click(),
  ]);
  const shown = operation.locator('.live-responses-table');
  await shown
    .locator('td.response-col_status')
    .filter({ hasText: String(response.status()) })
    .waitFor();
  const text = (await shownBody(shown).textContent()) ?? '';
  return { status: response.status(), url: response.url(), answer: JSON.parse(text) as JsonObject };
}

const shownBody = (shown: Locator): Locator => shown.locator('.response-col_description .highlight-code code').last();
