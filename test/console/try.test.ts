import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { PASSWORD, securedService, USER } from '../pages/support/services.ts';
import { theBrowser } from '../pages/support/visit.ts';
import { inRound, longTest } from '../support/round.ts';
import { assertSafe, assertUsable, openConsole } from './support/console.ts';

const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const naan = uniqueNaan();
const browser = await theBrowser();
const service = await securedService();

/** Gives back its input. */
const echo = (
  name: string,
  schema: unknown,
  schemas: object = {},
  code = 'function run(input) { return input; }',
): Ko =>
  javascriptKo(code, {
    naan,
    name,
    files: {
      'service.yaml': JSON.stringify({
        openapi: '3.1.0',
        info: { title: name, version: '1.0' },
        servers: [{ url: `/${naan}/${name}` }],
        paths: {
          '/run': {
            post: {
              summary: MARKUP,
              description: MARKUP,
              requestBody: { content: { 'application/json': { schema } } },
              responses: { 200: { description: 'OK', content: { 'application/json': { schema: {} } } } },
            },
          },
        },
        components: { schemas },
      }),
    },
  });

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const all = echo(
  'all',
  {
    type: 'object',
    required: ['age', 'sex', 'measure'],
    properties: {
      age: { type: 'integer', minimum: 18, maximum: 120, description: MARKUP },
      sex: { enum: ['female', 'male', MARKUP] },
      smokes: { type: 'boolean' },
      note: { type: ['string', 'null'] },
      born: { type: 'string', format: 'date' },
      drugs: { type: 'array', items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } },
      tree: ref('Tree'),
      levels: { type: 'object', additionalProperties: { type: 'number' } },
      free: {},
      measure: {
        oneOf: [
          { title: 'By weight', type: 'object', required: ['kg'], properties: { kg: { type: 'number' } } },
          { title: 'By words', type: 'string' },
        ],
      },
    },
  },
  { Tree: { type: 'object', properties: { name: { type: 'string' }, child: ref('Tree') } } },
);
/** A check of it would take for ever: each level is checked twice. */
const endless = echo(
  'endless',
  ref('L0'),
  Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [
      `L${i}`,
      i === 59 ? { type: 'object' } : { allOf: [ref(`L${i + 1}`), ref(`L${i + 1}`)] },
    ]),
  ),
);
const failing = echo('failing', { type: 'object' }, {}, `function run() { throw new Error('failed ${MARKUP}'); }`);
await service.serve(all, endless, failing);

async function logIn(page: Page): Promise<void> {
  await page.getByLabel('User', { exact: true }).fill(USER);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Password', { exact: true }).press('Enter');
  await page.getByText('Logged in, until this tab is closed.').waitFor();
}

async function openTry(visit: Parameters<typeof openConsole>[0], ko: Ko): Promise<Page> {
  const page = await openConsole(visit, service.url, `try${pathOf(ko)}`);
  await logIn(page);
  await page.getByRole('button', { name: 'Send' }).waitFor();
  return page;
}

async function send(page: Page): Promise<string> {
  const [answer] = await Promise.all([
    page.waitForResponse(
      (each) => each.request().method() === 'POST' && each.url().startsWith(`${service.url}/${naan}/`),
    ),
    page.getByRole('button', { name: 'Send' }).press('Enter'),
  ]);
  await page.getByText(`Answered with ${answer.status()}`).waitFor();
  return (await page.getByRole('region', { name: 'Answer', exact: true }).innerText()).trim();
}

test('a form is made of each kind of schema, by keyboard, at 320 px and in the dark; JSON and form hold one input', async () => {
  await using visit = await browser.visit({ width: 320, height: 900 }, 'dark');
  const page = await openTry(visit, all);
  const group = (name: string) => page.getByRole('group', { name });
  await page.getByLabel('age (required)').fill('44');
  await page.getByLabel('sex (required)').selectOption(MARKUP);
  await page.getByLabel('smokes').selectOption('false');
  await page.getByLabel('note: null').press('Space');
  await page.getByLabel('born').fill('1980-02-29');
  await page.getByRole('button', { name: 'Add drugs' }).press('Enter');
  await page.getByRole('button', { name: 'Add to drugs' }).press('Enter');
  await page.getByRole('button', { name: 'Add to drugs' }).press('Enter');
  await group('drugs 2').getByLabel('name').fill('aspirin');
  await page.getByRole('button', { name: 'Remove drugs 1' }).press('Enter');
  await page.getByRole('button', { name: 'Add tree' }).press('Enter');
  await page.getByRole('button', { name: 'Add child' }).press('Enter');
  await group('child').getByLabel('name').fill('leaf');
  await page.getByRole('button', { name: 'Add levels' }).press('Enter');
  await page.getByLabel('Name of another in levels').fill('a/b');
  await page.getByRole('button', { name: 'Add to levels' }).press('Enter');
  await page.getByLabel('a/b').fill('1.50');
  await page.getByLabel('free').fill('{"x": [1]}');
  await page.getByLabel('kg (required)').fill('70');
  await page.getByLabel('measure: which kind').selectOption('By words');
  await page.getByLabel('measure (required)').last().fill(MARKUP);
  await assertUsable(page);
  const expected = {
    age: 44,
    measure: MARKUP,
    sex: MARKUP,
    smokes: false,
    note: null,
    born: '1980-02-29',
    drugs: [{ name: 'aspirin' }],
    tree: { child: { name: 'leaf' } },
    levels: { 'a/b': 1.5 },
    free: { x: [1] },
  };
  assert.deepEqual(JSON.parse(await send(page)), expected);
  await page.getByRole('button', { name: 'Write JSON' }).press('Enter');
  const json = page.getByLabel('Input as JSON');
  assert.deepEqual(JSON.parse(await json.inputValue()), expected);
  await json.fill('{"age": ');
  await page.getByRole('button', { name: 'Show the form' }).press('Enter');
  await page.getByText(/^This is not JSON, which a form could show/).waitFor();
  await json.fill('{"age": 5, "measure": {"kg": 1}, "other": true}');
  await page.getByRole('button', { name: 'Show the form' }).press('Enter');
  await page.getByText('It breaks its schema, and can be sent all the same').waitFor();
  const broken = page.locator('.try-broken li');
  assert.deepEqual((await broken.allInnerTexts()).map((each) => each.split(' ')[0]).sort(), ['/age', 'the']);
  assert.equal(await page.getByLabel('age (required)').getAttribute('aria-invalid'), 'true');
  assert.deepEqual(JSON.parse(await send(page)), { age: 5, measure: { kg: 1 }, other: true });
  assert.equal(await page.locator('main script, main [onerror], main img').count(), 0, 'nothing became markup');
  assertSafe(visit, service.url);
});

/** In milliseconds, as in `try/form/check.js`. */
const CHECK_LIMIT_MS = 2000;

longTest(
  'a schema that takes for ever to be checked stops neither the page nor a call; a failure is shown as text, with its place and what names it in the log',
  async () => {
    await using visit = await browser.visit();
    // It takes a core until its limit, which comes sooner in every run.
    await visit.runFirst(`const later = globalThis.setTimeout;
    globalThis.setTimeout = (run, ms, ...rest) => later(run, ms === ${CHECK_LIMIT_MS} ? ${inRound(200, CHECK_LIMIT_MS)} : ms, ...rest);`);
    const page = await openTry(visit, endless);
    await page.getByLabel('Input (required)').fill('{}');
    await page.getByText('The schema takes too long to be checked here.').waitFor();
    assert.equal(await send(page), '{}');

    // Logged in still, in another view.
    await openConsole(visit, service.url, `try${pathOf(failing)}`);
    await page.getByText('Answered with 200').waitFor({ state: 'detached' });
    assert.match(await send(page), /failed <img src=x onerror=alert\(1\)><script>/);
    await page.getByText('Place in the code').waitFor();
    const facts = await page.getByRole('region', { name: 'Result' }).locator('.facts').innerText();
    assert.match(
      facts,
      /Status\s+500[^]*Time[^]*Execution[^]*Package\s+sha256:[^]*Place in the code\s+src\/index\.js:1[^]*Request/,
    );
    assertSafe(visit, service.url);
  },
);

const MOST_FRAMES = 300;

/** What the field for the age holds, once the page is drawn anew. */
async function assertBecomes(page: Page, value: string): Promise<void> {
  const field = page.getByLabel('age (required)');
  for (let frames = 0; frames < MOST_FRAMES && (await field.inputValue()) !== value; frames++)
    await page.evaluate('new Promise(requestAnimationFrame)');
  assert.equal(await field.inputValue(), value);
}

longTest('what was tried is kept in the tab, filled in again, cleared, and gone with a log out', async () => {
  await using visit = await browser.visit();
  const page = await openTry(visit, all);
  const kept = (): Promise<number> =>
    page.evaluate<number>(`(sessionStorage.getItem('kgrid-console-tries') ?? '').length`);
  await page.getByLabel('age (required)').fill('31');
  await send(page);
  await page.getByText('Inputs may be data of patients.').waitFor();
  await page.getByLabel('age (required)').fill('99');
  await page
    .getByRole('button', { name: /^Use the input of/ })
    .first()
    .click();
  await assertBecomes(page, '31');
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByText('Inputs may be data of patients.').waitFor({ state: 'detached' });
  assert.equal(await kept(), 0);
  await send(page);
  assert.ok((await kept()) > 0);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('Logged out.').waitFor();
  assert.equal(await kept(), 0);
  await page.getByLabel('age (required)').waitFor();
  // What was typed is gone too.
  await assertBecomes(page, '');
  for (const url of visit.requests) assert.doesNotMatch(decodeURIComponent(url), /ann|password/);
});

longTest('a login that ends is asked for in place, and what was typed is still there', async () => {
  await using visit = await browser.visit();
  const page = await openTry(visit, all);
  await page.getByLabel('age (required)').fill('57');
  // As a token that has run out, or a password that somebody changed.
  await page.evaluate(`sessionStorage.setItem('kgrid-authorization', 'Basic ' + btoa('ann:what it was'))`);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('input[name=user]:focus').waitFor();
  await assertBecomes(page, '57');
  await page.getByLabel('User', { exact: true }).fill(USER);
  await page.getByLabel('Password', { exact: true }).fill('a slip of the finger');
  await page.getByLabel('Password', { exact: true }).press('Enter');
  await page.getByText('This login is not accepted.').waitFor();
  await logIn(page);
  await assertBecomes(page, '57');
  assert.equal((JSON.parse(await send(page)) as { age: number }).age, 57);
  const secret = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');
  await page.getByText('Copy as code').click();
  assert.ok(!(await page.content()).includes(secret));
  assert.match(await page.getByLabel('Code', { exact: true }).inputValue(), /Authorization: \$KGRID_AUTHORIZATION/);
  assertSafe(visit, service.url);
});

test('pages of other sites neither frame the console nor change anything by it', async () => {
  await using visit = await browser.visit();
  const other = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<h1>Other</h1>'),
  );
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    const { page } = visit;
    await page.goto(`http://localhost:${(other.address() as AddressInfo).port}/`);
    const tried = await page.evaluate<string[]>(`(async () => {
      const tries = [
        ['DELETE', '/kos/${all.id}', {}],
        ['GET', '/actuator/activation/reload/${all.id}', {}],
        ['POST', '/kos/manifest', { 'content-type': 'text/plain' }],
      ];
      const said = [];
      for (const [method, path, headers] of tries) {
        const answer = await fetch('${service.url}' + path, { method, headers, body: method === 'POST' ? '[]' : undefined, redirect: 'manual' })
          .catch((error) => ({ status: error.name }));
        said.push(String(answer.status));
      }
      const frame = document.createElement('iframe');
      frame.src = '${service.url}/console#/kos';
      const loaded = new Promise((resolve) => { frame.onload = resolve; });
      document.body.append(frame);
      await loaded;
      return said;
    })()`);
    for (const status of tried) assert.match(status, /^(?:401|403|TypeError)$/);
    const [, frame] = page.frames();
    assert.equal(await frame?.locator('#console').count(), 0, 'no console in a frame of others');
    assert.equal((await service.get(`/kos/${all.id}`)).status, 200);
  } finally {
    other.close();
    other.closeAllConnections();
  }
});
