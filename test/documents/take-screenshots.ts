/**
 * Takes the pictures of docs/images with Debian's chromium, of a service with the examples:
 * `node test/documents/take-screenshots.ts`. No test; run it after a change of the pages.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import type { Page } from 'playwright-core';
import { PROJECT, startService } from '../acceptance/support/service.ts';
import { CONSOLE_PICTURES } from './support/console-pictures.ts';

const IMAGES = join(PROJECT, 'docs/images');
const SIZES = { '': { width: 1280, height: 860 }, '-phone': { width: 390, height: 844 } };
const PATIENCE = 120_000;

async function overview(page: Page, url: string, path: string): Promise<void> {
  await page.goto(url);
  await page.locator('main li').first().waitFor();
  await page.screenshot({ path });
}

/** What a knowledge object says of itself. */
async function about(page: Page, url: string, path: string): Promise<void> {
  await page.goto(`${url}/doc?ko=kgrid/statin.use/v1.0`);
  await page.locator('.opblock').first().waitFor();
  await page.screenshot({ path });
}

/** A call that has been answered. */
async function editor(page: Page, url: string, path: string): Promise<void> {
  await page.goto(`${url}/doc?url=/kos/cpic/warfarin/v1.0/service.yaml`);
  const execute = page.locator('.btn.execute');
  await execute.click();
  await page.locator('.live-responses-table').first().waitFor();
  await page.evaluate(`document.querySelector('.btn.execute').scrollIntoView()`);
  await page.screenshot({ path, animations: 'disabled' });
}

const folder = await mkdtemp(join(tmpdir(), 'kgrid-pictures-'));
try {
  await cp(join(PROJECT, 'examples'), folder, { recursive: true });
  await using service = await startService({
    shelf: folder,
    args: ['--port', '8080', '--runtimes', 'node,python'],
    // npm and pip find their settings there.
    env: process.env as Record<string, string>,
  });
  const isWaiting = async (): Promise<boolean> =>
    (await service.get('/endpoints')).list.some((each) => each['status'] === 'LOADED');
  for (const end = Date.now() + PATIENCE; Date.now() < end && (await isWaiting());) await wait(500);
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  for (const [suffix, viewport] of Object.entries(SIZES)) {
    const page = await browser.newPage({ viewport, colorScheme: 'light' });
    await overview(page, service.url, join(IMAGES, `overview${suffix}.png`));
    await editor(page, service.url, join(IMAGES, `editor${suffix}.png`));
    if (suffix === '') await about(page, service.url, join(IMAGES, 'about.png'));
    await page.close();
  }
  for (const [name, show] of Object.entries(CONSOLE_PICTURES)) {
    const page = await browser.newPage({ viewport: SIZES[''], colorScheme: 'light' });
    await show(page, service.url);
    await page.screenshot({ path: join(IMAGES, `${name}.png`), animations: 'disabled' });
    await page.close();
  }
  await browser.close();
} finally {
  await rm(folder, { recursive: true, force: true });
}
