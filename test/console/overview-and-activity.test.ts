import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { javascriptKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import { PASSWORD, QUEUE_LIMIT, securedService, USER } from '../pages/support/services.ts';
import { inRound, longTest } from '../support/round.ts';
import { theBrowser } from '../pages/support/visit.ts';
import { assertSafe, assertUsable, openConsole, underLoad } from './support/console.ts';

const MARKUP = '<img src=x onerror=alert(1)>';
type Shown = readonly [width: number, scheme: 'dark' | 'light'];
const NARROW_DARK: Shown = [320, 'dark'];
const WIDE_LIGHT: Shown = [1280, 'light'];
const naan = uniqueNaan();
const browser = await theBrowser();
const service = await securedService();
const basic = { authorization: `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}` };

const CODE = `function run(input) {
  if (input.fail) throw new Error('not for ${MARKUP} ' + input.fail);
  return input;
}`;
const works = javascriptKo(CODE, { naan, name: 'works' });
const broken = javascriptKo(`function run( { // ${MARKUP}`, { naan, name: 'broken' });
for (const ko of [works, broken]) {
  const body = new FormData();
  body.append('ko', new Blob([new Uint8Array(await zipOf(ko.files))]), 'ko.zip');
  assert.equal((await fetch(`${service.url}/kos`, { method: 'POST', headers: basic, body })).status, 200);
}
const reloaded = await fetch(`${service.url}/actuator/activation/reload`, { headers: basic, redirect: 'manual' });
assert.equal(reloaded.status, 303);
const endpoint = `${service.url}/${naan}/works/1.0/run`;

const call = (body: unknown): Promise<Response> =>
  fetch(endpoint, {
    method: 'POST',
    headers: { ...basic, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function logIn(page: Page, password = PASSWORD): Promise<void> {
  await page.getByLabel('User').fill(USER);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).press('Enter');
}

test('scripts and styles in folders are served and kept by browsers, and nothing beside or above them is', async () => {
  const ask = (path: string, headers = {}): Promise<Response> => fetch(`${service.url}/console/${path}`, { headers });
  for (const path of ['main.js', 'try/form/form.css', 'try/form/check-worker.js', 'shared/api.js']) {
    const { status, headers } = await ask(path);
    assert.equal(status, 200, path);
    assert.equal(headers.get('cache-control'), 'no-cache');
    assert.equal((await ask(path, { 'if-none-match': headers.get('etag') ?? '' })).status, 304);
  }
  const others = [
    'console.html',
    'tsconfig.json',
    'try',
    'try/',
    'shared//api.js',
    '.%2fmain.js',
    'try%2f..%2fmain.js',
  ];
  for (const path of [...others, '..%2fconsole-routes.ts', 'try/..%2f..%2f..%2fconsole-routes.ts', '%2fetc/hostname'])
    assert.equal((await ask(path)).status, 404, path);
});

test('without a login nothing is told, a wrong one is refused, and a right one shows what was asked for', async () => {
  await using visit = await browser.visit();
  const page = await openConsole(visit, service.url);
  await page.getByLabel('User').waitFor();
  assert.equal(await page.getByText(naan).count(), 0);
  await logIn(page, 'wrong');
  await page.getByText('This login is not accepted.').waitFor();
  await logIn(page);
  await page
    .getByRole('row')
    .filter({ hasText: `${naan}/broken/v1.0` })
    .waitFor();
  const kept = await page.evaluate<string[]>('[document.cookie, location.href, JSON.stringify(localStorage)]');
  assert.ok(!kept.join().includes(basic.authorization.slice(6)), kept.join());
  assertSafe(visit, service.url);
});

test('the overview tells what is called, what fails, what does not run and what was set, while it is called', async () => {
  await using visit = await browser.visit();
  const page = await openConsole(visit, service.url);
  await logIn(page);
  await using load = underLoad(endpoint, { a: 1 }, basic);
  for (let i = 0; i < 3; i++) assert.equal((await call({ fail: 'x' })).status, 500);
  const row = page.getByRole('row').filter({ hasText: `${naan}/works/v1.0` });
  await row.filter({ has: page.locator('td:nth-child(4)', { hasText: /^3$/ }) }).waitFor();
  assert.ok(Number((await row.getByRole('cell').nth(1).textContent())?.replaceAll(',', '')) > 3);
  await page.getByRole('button', { name: `Charts of ${naan}/works/v1.0` }).press('Enter');
  await page.getByRole('heading', { name: `Calls of the last hour of ${naan}/works/v1.0` }).waitFor();
  await page.getByText(/In the last hour: \d+ calls, 3 failures/).waitFor();
  const problem = page.getByRole('row').filter({ hasText: `${naan}/broken/v1.0` });
  assert.match((await problem.textContent()) ?? '', /failed.*SyntaxError/);
  const setting = page.getByRole('row').filter({ hasText: '--queue-limit' });
  assert.match((await setting.textContent()) ?? '', new RegExp(`^--queue-limit${QUEUE_LIMIT}`));
  assert.equal(await page.getByText(PASSWORD).count(), 0);
  assert.equal(await page.locator('main img').count(), 0);
  for (const [width, scheme] of inRound([NARROW_DARK], [NARROW_DARK, WIDE_LIGHT])) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await assertUsable(page);
  }
  assert.ok(load.answered() > 0);
  assertSafe(visit, service.url);
});

longTest(
  'changes and failures are shown as they happen, with who made them and where code failed, never with inputs',
  async () => {
    await using visit = await browser.visit();
    const page = await openConsole(visit, service.url, 'activity');
    await logIn(page);
    const rows = page.getByRole('table', { name: 'Who changed what' }).getByRole('row');
    await rows.filter({ hasText: 'import' }).first().waitFor();
    assert.equal(
      (await fetch(`${service.url}/kos/${naan}/broken/v1.0`, { method: 'DELETE', headers: basic })).status,
      204,
    );
    const deleted = rows.filter({ hasText: 'delete' }).filter({ hasText: `${naan}/broken/v1.0` });
    await deleted.waitFor();
    assert.match((await deleted.textContent()) ?? '', /ann.*127\.0\.0\.1.*done/);
    const refused = await fetch(`${service.url}/kos/${naan}/works/v1.0`, { method: 'DELETE' });
    assert.equal(refused.status, 401);
    assert.equal((await call({ fail: 'Jane Doe' })).status, 500);
    const failures = page.getByRole('table', { name: /^Failed calls/ }).getByRole('row');
    const failure = failures.filter({ hasText: `${naan}/works/v1.0` }).filter({ hasText: '…' });
    await failure.first().waitFor();
    const told = (await failures.allTextContents()).join('\n');
    assert.match(told, /not for <img src=x onerror=alert\(1\)>/);
    assert.match(told, /:2/);
    assert.doesNotMatch(told, /Jane|Doe/);
    await page.getByRole('searchbox').fill('delete');
    await page
      .getByText(/1 of \d+ changes/)
      .or(page.getByText(/2 of \d+ changes/))
      .first()
      .waitFor();
    await page.setViewportSize({ width: 320, height: 900 });
    await assertUsable(page);
    assertSafe(visit, service.url);
  },
);

// In every run the views follow what happens, each in a tab.
if (inRound(false, true))
  test('tabs with one login share one stream of events, and follow it again after it broke', async () => {
    const streams: { end: () => void }[] = [];
    let came = Promise.withResolvers<undefined>();
    const proxy = createServer((request, response) => {
      const { method, url, headers } = request;
      const passed = send(`${service.url}${url ?? ''}`, {
        method,
        headers: { ...headers, host: new URL(service.url).host },
      });
      request.pipe(passed);
      passed.on('error', () => response.destroy());
      passed.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        if (url?.startsWith('/actuator/events') !== true || answer.statusCode !== 200) return;
        streams.push({ end: () => response.destroy() });
        came.resolve(undefined);
        came = Promise.withResolvers();
      });
      response.on('close', () => passed.destroy());
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    after(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await using visit = await browser.visit();
    const first = await openConsole(visit, address, 'activity');
    await logIn(first);
    await first.getByText('up', { exact: true }).waitFor();
    // What a tab opens has a copy of what it keeps, its login too.
    const [second] = await Promise.all([
      first.context().waitForEvent('page'),
      first.evaluate(`void window.open(location.href)`),
    ]);
    await second.getByText('up', { exact: true }).waitFor();
    assert.equal(streams.length, 1);
    const again = came.promise;
    streams[0]?.end();
    await again;
    const id = `${naan}/works/v1.0`;
    assert.equal(
      (await fetch(`${service.url}/actuator/activation/reload/${id}`, { headers: basic, redirect: 'manual' })).status,
      303,
    );
    for (const page of [first, second])
      await page.getByRole('row').filter({ hasText: 'reload' }).filter({ hasText: id }).first().waitFor();
    assert.equal(streams.length, 2);
    await second.close();
  });
