/** Pictures of the console's views of knowledge objects, of what is added, and of endpoints that are tried. */
import type { Page } from 'playwright-core';

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
  'console-try': async (page, url) => {
    await page.goto(`${url}/console#/try/nephrology/ckdepi/2.0/egfr`);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Result' }).waitFor();
  },
};
