/** Pictures of the console's views. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
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
  console: async (page, url) => {
    await callAWhile(url);
    await page.goto(`${url}/console`);
    await page.getByRole('table', { name: /^Endpoints by/ }).waitFor();
    await page.getByText(/^In the last hour/).waitFor();
  },
  'console-activity': async (page, url) => {
    await fetch(`${url}/actuator/activation/reload/cpic/warfarin/v1.0`, { redirect: 'manual' });
    await page.goto(`${url}/console#/activity`);
    await page.getByRole('table', { name: 'Who changed what' }).waitFor();
    await page.getByRole('table', { name: /^Failed calls/ }).waitFor();
  },
};

/** Seconds: so that the charts have some steps. */
const WHILE_S = 130;
const CALLS: readonly (readonly [path: string, body: string, everyMs: number])[] = [
  ['nephrology/ckdepi/2.0/egfr', '{"age":50,"sex":"female","creatinine":0.9}', 25],
  ['cardiology/cha2ds2vasc/1.0/score', '{}', 1500],
  [
    'pharmacokinetics/vancomycin/1.0/exposure',
    '{"age":50,"sex":"male","weight":70,"creatinine":0.9,"dose":1000,"interval":12,"infusion":1}',
    90,
  ],
  ['kgrid/fib4.index/1.0/fib4', '{"age":50,"ast":40,"alt":35,"platelets":200}', 60],
  ['demo/broken/1.0/works', 'null', 2000],
];

async function callAWhile(url: string): Promise<void> {
  const until = Date.now() + WHILE_S * 1000;
  const headers = { 'content-type': 'application/json' };
  const callOne = async ([path, body, pause]: (typeof CALLS)[number]): Promise<void> => {
    while (Date.now() < until) {
      await (await fetch(`${url}/${path}`, { method: 'POST', headers, body })).arrayBuffer();
      await wait(pause * (0.5 + Math.random() + Math.sin(Date.now() / 40_000) / 3));
    }
  };
  await Promise.all(CALLS.map(callOne));
}

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
