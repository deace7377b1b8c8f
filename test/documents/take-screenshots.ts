/**
 * Takes the pictures of docs/images with Debian's chromium, of a service with the examples:
 * `node test/documents/take-screenshots.ts`. No test; run it after a change of the pages.
 */
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { zipOf } from '../acceptance/support/ko.ts';
import { PROJECT, startService } from '../acceptance/support/service.ts';
import { launchChromium } from '../pages/support/chromium.ts';

const IMAGES = join(PROJECT, 'docs/images');
const PATIENCE = 180_000;
const KO = 'nephrology/ckdepi/v2.0';

/** As they are when a person has done what they are for; by the name of the picture. */
const PICTURES: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  '#/': (page) => page.getByRole('list', { name: 'Knowledge objects' }).locator('> li').first().waitFor(),
  [`#/kos/${KO}/try`]: async (page) => {
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Answer', exact: true }).waitFor();
  },
  '#/add': async (page) => {
    const files = [
      {
        name: 'ckdepi.zip',
        mimeType: 'application/zip',
        buffer: await packageOf('nephrology-ckdepi-v2.0', 'egfr: 51'),
      },
      { name: 'ckdepi-2.zip', mimeType: 'application/zip', buffer: await packageOf('nephrology-ckdepi-v2.0') },
      { name: 'news2.zip', mimeType: 'application/zip', buffer: await packageOf('rcp-news2-v1.0') },
    ];
    await page.locator('#add-files').setInputFiles(files);
    await page.getByText('Nothing is on the shelf yet.').nth(2).waitFor();
  },
  [`#/kos/${KO}/history`]: async (page) => {
    await page.getByRole('button', { name: 'Lines of worked-examples.yaml' }).waitFor();
    await page.locator('.diff').waitFor();
  },
  '#/health': (page) => page.getByText(/^In the last hour/).waitFor(),
};
const NAMES = ['catalogue', 'try', 'add', 'history', 'health'];

/** One of the examples; `egfr`: another result than its code gives. */
async function packageOf(folder: string, egfr = 'egfr: 50'): Promise<Buffer> {
  const root = join(PROJECT, 'examples', folder);
  const found = await readdir(root, { recursive: true, withFileTypes: true });
  const files: Record<string, Buffer | string> = {};
  for (const each of found.filter((entry) => entry.isFile())) {
    const path = join(each.parentPath, each.name);
    files[path.slice(root.length + 1)] = await readFile(path);
  }
  const examples = String(files['worked-examples.yaml']);
  return zipOf({ ...files, 'worked-examples.yaml': examples.replace('egfr: 50', egfr) });
}

/** So that the charts have some steps. */
async function callAWhile(url: string): Promise<void> {
  const until = Date.now() + 100_000;
  const headers = { 'content-type': 'application/json' };
  const body = '{"age":50,"sex":"female","creatinine":0.9}';
  for (; Date.now() < until; await wait(100 + 200 * Math.random()))
    await (await fetch(`${url}/nephrology/ckdepi/2.0/egfr`, { method: 'POST', headers, body })).arrayBuffer();
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
  await callAWhile(service.url);
  const browser = await launchChromium();
  for (const [i, [place, show]] of Object.entries(PICTURES).entries()) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: 'light' });
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`${service.url}/${place}`);
    if (place.endsWith('history')) {
      const form = new FormData();
      form.append('ko', new Blob([new Uint8Array(await packageOf('nephrology-ckdepi-v2.0', 'egfr: 49'))]), 'ko.zip');
      await fetch(`${service.url}/kos`, { method: 'POST', body: form });
    }
    await show(page);
    await page.screenshot({ path: join(IMAGES, `${NAMES[i]}.png`), animations: 'disabled' });
    await page.close();
  }
  await browser.close();
} finally {
  await rm(folder, { recursive: true, force: true });
}
