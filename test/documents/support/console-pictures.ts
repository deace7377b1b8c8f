/** Pictures of the console's views of knowledge objects, of what is added, and of endpoints that are tried. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { zipOf } from '../../acceptance/support/ko.ts';
import { PROJECT } from '../../acceptance/support/service.ts';

type Picture = (page: Page, url: string) => Promise<void>;

/** As they are when a person has done what they are for; by the name of the picture. */
export const CONSOLE_PICTURES: Readonly<Record<string, Picture>> = {
  'console-kos': async (page, url) => {
    await page.goto(`${url}/console#/kos`);
    await page.locator('.ko-items .ko-state').first().waitFor();
  },
  'console-versions': async (page, url) => {
    await page.goto(`${url}/console#/kos/nephrology/ckdepi/v2.0/versions/v1.0`);
    await page.getByRole('button', { name: 'Lines of service.yaml' }).click();
    await page.locator('.ko-diff').waitFor();
  },
  'console-examples': async (page, url) => {
    await page.goto(`${url}/console#/kos/nephrology/ckdepi/v2.0/examples`);
    await page.getByRole('button', { name: 'Run all' }).click();
    await page.getByText(/^(\d+) of \1 the same$/).waitFor();
  },
  'console-add': async (page, url) => {
    await page.goto(`${url}/console#/add`);
    const buffer = await changedExample();
    await page.locator('#add-files').setInputFiles({ name: 'ckdepi.zip', mimeType: 'application/zip', buffer });
    await page.getByRole('table', { name: /^What differs/ }).waitFor();
  },
  'console-try': async (page, url) => {
    await page.goto(`${url}/console#/try/nephrology/ckdepi/2.0/egfr`);
    await page.getByRole('button', { name: 'Send' }).click();
    const result = page.getByRole('region', { name: 'Answer', exact: true });
    await result.waitFor();
    await result.scrollIntoViewIfNeeded();
  },
};

/** One of the examples, with a result that its code does not give. */
async function changedExample(): Promise<Buffer> {
  const folder = join(PROJECT, 'examples/nephrology-ckdepi-v2.0');
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: Record<string, Buffer | string> = {};
  for (const each of found.filter((entry) => entry.isFile())) {
    const path = join(each.parentPath, each.name);
    files[path.slice(folder.length + 1)] = await readFile(path);
  }
  const examples = String(files['worked-examples.yaml']);
  return zipOf({ ...files, 'worked-examples.yaml': examples.replace('egfr: 50', 'egfr: 51') });
}
