import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { explode } from '../acceptance/support/folders.ts';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { execute, openEditor } from './support/editor.ts';
import { measure } from './support/measure.ts';
import { PASSWORD, securedService, USER } from './support/services.ts';
import { PHONE, theBrowser } from './support/visit.ts';
import type { Visit } from './support/visit.ts';
import { longTest } from '../support/round.ts';

const naan = uniqueNaan();
const browser = await theBrowser();
const service = await securedService();
const good = welcomeKo({ naan, name: 'good' });
const idle = welcomeKo({ naan, name: 'idle' });
const broken = welcomeKo({ naan, name: 'broken', files: { 'deployment.yaml': '{ not yaml' } });
await service.serve(good);
await explode(broken, service.shelf, 'broken');
await explode(welcomeKo({ naan, name: 'unreadable' }), service.shelf, 'folder-of-the-unreadable');
await writeFile(join(service.shelf, 'folder-of-the-unreadable', 'metadata.json'), '{ not json');
await service.get('/actuator/activation/reload');

const DETAILS = [/not valid YAML/, /not valid JSON/, /folder-of-the-unreadable/];
const card = (page: Page, name: string) => page.locator('#list > li').filter({ hasText: `Title of ${name} ${naan}/` });

async function logIn(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.keyboard.press('Enter');
}

async function open(visit: Visit): Promise<Page> {
  await visit.page.goto(service.url);
  await card(visit.page, 'good').waitFor();
  return visit.page;
}

test('an anonymous visitor is told that there are problems, what is true of each, and no details', async () => {
  // Now, since what others do to this service activates it.
  await service.add(idle);
  await using visit = await browser.visit();
  const bodies: Promise<string>[] = [];
  visit.page.on('response', (answer) => bodies.push(answer.text().catch(() => '')));
  const page = await open(visit);
  assert.match(
    await card(page, 'broken').innerText(),
    /not activated\s+It has a problem and does not run\. A login shows which\./,
  );
  assert.doesNotMatch(await card(page, 'broken').innerText(), /refresh/);
  assert.match(await card(page, 'idle').innerText(), /It is on the shelf and becomes active with the next refresh/);
  assert.equal(
    await page.locator('#hint').innerText(),
    'One thing on the shelf cannot be read, so that not all knowledge objects are here. A login shows which, and why.',
  );
  const all = `${(await Promise.all(bodies)).join('\n')}${await page.content()}`;
  for (const detail of DETAILS) assert.doesNotMatch(all, detail);
  visit.assertQuiet(service.url);
});

test('a login shows them, by the keyboard alone, until it is forgotten', async () => {
  await using visit = await browser.visit(PHONE);
  const page = await open(visit);
  const summary = page.locator('#login summary');
  await summary.focus();
  await page.keyboard.press('Enter');
  const { pale, sideways, unlabelled } = await measure(page);
  assert.deepEqual({ pale, sideways, unlabelled }, { pale: [], sideways: 0, unlabelled: [] });

  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Type a user and a password, or a token.').waitFor();
  await logIn(page, { 'or token': 'no\ttoken' });
  await page.getByText('A token has letters, digits and signs, and no spaces.').waitFor();
  await logIn(page, { 'or token': 'not.a.token' });
  await page.getByText('This login is not accepted.').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  await logIn(page, { 'or token': '', User: USER, Password: PASSWORD });
  await page.getByText('Logged in, until this tab is closed.').waitFor();

  await card(page, 'broken').filter({ hasText: 'deployment.yaml is not valid YAML' }).waitFor();
  await page.locator('#list > li').filter({ hasText: 'folder-of-the-unreadable' }).waitFor();
  assert.equal(await page.locator('#hint').innerText(), '');
  await page.reload();
  await card(page, 'broken').filter({ hasText: 'deployment.yaml is not valid YAML' }).waitFor();

  await summary.click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await card(page, 'broken').filter({ hasText: 'A login shows which' }).waitFor();
  assert.equal(await page.getByLabel('User', { exact: true }).evaluate('document.activeElement?.name'), 'user');
  assert.equal(await page.evaluate('sessionStorage.length + localStorage.length + document.cookie.length'), 0);
  for (const url of visit.requests) assert.doesNotMatch(decodeURIComponent(url), /ann|password/);
  visit.assertQuiet(service.url);
});

longTest('where calls need a login they are made with the one that was given, and no page shows it', async () => {
  await using visit = await browser.visit();
  const { page } = visit;
  const descriptor = `/kos/${good.id}/service.yaml`;
  await openEditor(page, service.url, descriptor);
  const path = `${naan}/good/1.0/welcome`;
  await page.locator('#login summary').click();
  await logIn(page, { User: USER, Password: PASSWORD });
  await page.getByText('Logged in, until this tab is closed.').waitFor();
  const { status, answer } = await execute(page, 'welcome');
  assert.deepEqual([status, answer['result']], [200, 'Welcome to the Knowledge Grid, Ada'], path);
  const secret = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
  assert.ok(!(await page.content()).includes(secret), 'not in the shown command');
  await using other = await browser.visit();
  await other.page.goto(service.url);
  assert.equal(await other.page.evaluate('sessionStorage.length'), 0);
  visit.assertQuiet(service.url);
});
