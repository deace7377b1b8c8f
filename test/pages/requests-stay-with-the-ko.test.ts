/** A descriptor may not make the pages send anything outside of its knowledge object, with or without a login. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { serviceDescriptor, uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { openEditor, execute } from './support/editor.ts';
import { PASSWORD, securedService, USER } from './support/services.ts';
import { theBrowser } from './support/visit.ts';
import type { Visit } from './support/visit.ts';

const naan = uniqueNaan();
const browser = await theBrowser();
const service = await securedService();

const victim = welcomeKo({ naan, name: 'victim' });
const operation = { responses: { 200: { description: 'OK' } } };
const steps = { name: 'step', in: 'path', required: true, schema: { type: 'string' }, example: '..' };
const LEFT_OUT = [
  `/%2e%2e/%2E./.%2e/kos/${victim.id}`,
  `/../../../kos/${victim.id}`,
  `/..\\..\\..\\kos\\${victim.id}`,
  `//kos/${victim.id}`,
  `/welcome?x=/../..`,
  `/.\t./.\t./.\t./kos/${victim.id}`,
  '/x%2f..%2f..',
];
const hostile = welcomeKo({
  naan,
  name: 'hostile',
  files: {
    'service.yaml': stringify({
      ...serviceDescriptor(`/${naan}/hostile`, '1.0', []),
      info: { title: 'hostile', version: '1.0', description: '[press](/actuator/activation/reload)' },
      security: [{ basic: [] }],
      paths: {
        '/welcome': {
          post: { requestBody: { content: { 'application/json': { example: { name: 'Ada' } } } }, ...operation },
        },
        [`/{step}/{step}/{step}/kos/${victim.id}`]: { delete: { parameters: [steps], ...operation } },
        '/elsewhere': { $ref: 'item.yaml' },
        ...Object.fromEntries(LEFT_OUT.map((path) => [path, { delete: operation }])),
      },
      components: { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } },
    }),
    'item.yaml': stringify({ servers: [{ url: '/actuator' }], delete: operation }),
  },
});
await service.serve(victim, hostile);

async function logIn({ page }: Visit): Promise<void> {
  await page.locator('#login summary').click();
  await page.getByLabel('User', { exact: true }).fill(USER);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('Logged in, until this tab is closed.').waitFor();
}

test('paths of a descriptor that lead elsewhere are left out, and what is sent stays with its knowledge object', async () => {
  await using visit = await browser.visit();
  const { page } = visit;
  await openEditor(page, service.url, `/kos/${hostile.id}/service.yaml`);
  await logIn(visit);
  const { status } = await execute(page, 'welcome');
  assert.equal(status, 200);
  const notes = await page.locator('#notes li').allInnerTexts();
  assert.ok(
    notes.some((note) => note.startsWith('Not shown here, since it leads elsewhere: /%2e%2e')),
    String(notes),
  );
  assert.equal(await page.locator('.opblock-post').count(), 1);
  assert.equal(await page.getByRole('button', { name: 'Authorize' }).count(), 0);

  // What leads elsewhere only with a value, or by a file that the descriptor refers to.
  const operations = page.locator('.opblock-delete');
  assert.equal(await operations.count(), 2);
  for (const each of await operations.all()) {
    if ((await each.locator('.execute').count()) === 0) await each.locator('.opblock-summary-control').click();
    for (const input of await each.locator('.parameters input').all()) await input.fill('..');
    await each.locator('.execute').click();
    await each.getByText('Not of this knowledge object').first().waitFor();
  }
  await page.getByRole('link', { name: 'press' }).click();
  assert.equal(new URL(page.url()).pathname, '/doc');
  assert.equal(page.context().pages().length, 1);
  assert.equal((await service.get(`/kos/${victim.id}`)).status, 200);
  const { pathname } = new URL(service.url);
  const sent = visit.requests.map((url) => new URL(url).pathname.slice(pathname.length - 1));
  assert.deepEqual(
    sent.filter((path) => /^\/actuator\/(?!health$)/.test(path) || path === `/kos/${victim.id}`),
    [],
  );
});

test('an id in the address of a page leads to no other path', async () => {
  const before = (await service.get('/actuator/audit?limit=1')).list[0]?.['id'];
  await using visit = await browser.visit();
  const { page } = visit;
  const tries = [
    '/doc?ko=../../actuator/reload',
    '/doc?ko=%2e%2e/%2e%2e/actuator/reload',
    '/console#/kos/../../actuator/reload',
    '/console#/kos/%2e%2e/%2e%2e/actuator/reload',
    '/console#/try/../actuator/reload',
  ];
  await openEditor(page, service.url, `/kos/${hostile.id}/service.yaml`);
  await logIn(visit);
  for (const path of tries) {
    await page.goto('about:blank');
    await page.goto(service.url + path);
    await page
      .getByText(/There is no knowledge object|leads elsewhere/)
      .first()
      .waitFor();
  }
  assert.deepEqual(
    visit.requests.filter((url) => new URL(url).pathname.startsWith('/actuator/reload')),
    [],
  );
  assert.equal((await service.get('/actuator/audit?limit=1')).list[0]?.['id'], before);
});

test('a link to a path that acts asks first, and acts when a person says so', async () => {
  await using visit = await browser.visit();
  const { page } = visit;
  // What was refused has a record too, a moment later.
  const newest = async (): Promise<unknown> =>
    (await service.get('/actuator/audit?limit=10')).list.find(({ outcome }) => outcome === 'done')?.['action'];
  await service.put(`/kos/${victim.id}`, victim.metadata);
  await page.goto(`${service.url}/actuator/reload/${victim.id}`);
  assert.equal(await newest(), 'replace metadata');
  // The login of a browser itself, as it keeps one after it asked for it.
  const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
  await page.setExtraHTTPHeaders({ authorization });
  await page.getByRole('button', { name: 'Carry it out' }).click();
  await page.waitForURL('**/endpoints');
  await page.setExtraHTTPHeaders({});
  assert.equal(await newest(), 'reload');
});
