/** The front of a service, as a person uses it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { PASSWORD, USER } from './services.ts';
import type { Visit } from './visit.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Shows a view; no script of others may run in it. `place`: what follows `#/`. */
export async function openFront({ page }: Visit, url: string, place = ''): Promise<Page> {
  page.on('dialog', (dialog) => assert.fail(`a script ran: ${dialog.message()}`));
  // A colour that still changes would be measured on its way.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto(`${url}/#/${place}`);
  await page.locator('h1').waitFor();
  return page;
}

/** On the page that is shown, or that a view shows instead of itself. */
export async function logIn(page: Page, password = PASSWORD): Promise<void> {
  await page.getByLabel('User').fill(USER);
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Password').press('Enter');
}

interface Found {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What people with weak eyes, a thumb, a keyboard or a screen reader need, as far as a program can tell. */
export async function assertUsable(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const found = await page.evaluate<readonly Found[]>(`axe
    .run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })) })))`);
  assert.deepEqual(found, []);
  const sideways = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  assert.equal(sideways, 0, 'the page can be scrolled sideways');
}
