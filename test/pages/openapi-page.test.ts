/** Swagger UI on descriptors of others: nothing is sent outside of their knowledge object, with or without a login. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { serviceDescriptor, uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { execute, openEditor } from './support/editor.ts';
import { logIn } from './support/front.ts';
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

/** The login of the front is that of this page too. */
async function logInFirst({ page }: Visit): Promise<void> {
  await page.goto(`${service.url}/#/login`);
  await logIn(page);
  await page.getByRole('button', { name: 'Log out' }).waitFor();
}

test('paths of a descriptor that lead elsewhere are left out, and what is sent stays with its knowledge object', async () => {
  await using visit = await browser.visit();
  const { page } = visit;
  await logInFirst(visit);
  await openEditor(page, service.url, `/kos/${hostile.id}/service.yaml`);
  const { status } = await execute(page, 'welcome');
  assert.equal(status, 200);
  const notes = await page.locator('#notes .note').allInnerTexts();
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
  assert.deepEqual(
    visit.requests.filter((url) => /\/actuator\/(?:activation|reload)|\/kos\/[^/]+\/victim/.test(url)),
    [],
  );
});

test('an id in the address of a page leads to no other path', async () => {
  const before = (await service.get('/actuator/audit?limit=1')).list[0]?.['id'];
  await using visit = await browser.visit();
  const { page } = visit;
  const tries = [
    '/#/kos/../../actuator/reload',
    '/#/kos/%2e%2e/%2e%2e/actuator/reload',
    `/#/kos/${victim.id}/files/..%2f..%2f..%2f..%2factuator%2freload`,
  ];
  await logInFirst(visit);
  for (const path of tries) {
    await page.goto('about:blank');
    await page.goto(service.url + path);
    await page
      .getByText(/There is no such|There is no file|leads elsewhere/)
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

const MARKS = `<img src=x onerror="document.body.dataset.ran='img'"><script>document.body.dataset.ran='script'</script>`;
const LINK = 'javascript:document.body.dataset.ran="link"';

test('scripts of a descriptor do not run, and what it describes elsewhere is not fetched', async () => {
  const ko = welcomeKo({
    ...{ naan, name: 'marks' },
    // Two knowledge object versions may have one API version, and servers of others are not called.
    serverUrl: `https://other.invalid/${naan}/marks`,
    files: {
      'service.yaml': stringify({
        ...serviceDescriptor(`https://other.invalid/${naan}/marks`, '1.0', [
          { path: '/welcome', consumes: ['application/json'], deployment: {} },
        ]),
        info: {
          title: `Title ${MARKS}`,
          version: '1.0',
          description: `${MARKS} [press](${LINK})`,
          termsOfService: LINK,
        },
        externalDocs: { url: LINK, description: MARKS },
      }),
    },
  });
  await service.serve(ko);
  await using visit = await browser.visit();
  const { page } = visit;
  await logInFirst(visit);
  await openEditor(page, service.url, `/kos/${ko.id}/service.yaml`);
  const { status, url } = await execute(page, 'welcome', '{"name": "Ada"}');
  assert.deepEqual([status, url], [200, `${service.url}/${naan}/marks/1.0/welcome`]);
  assert.match(await page.locator('#notes').innerText(), /Described elsewhere, and not shown here: https:\/\/schemas/);
  assert.equal(
    await page.locator('#editor script, #editor form, #editor [onerror], a[href^="javascript:"]').count(),
    0,
  );
  assert.equal(await page.evaluate('document.body.dataset.ran'), undefined);
  assert.deepEqual(
    visit.requests.filter((each) => !each.startsWith('data:') && !each.startsWith(`${service.url}/`)),
    [],
  );
});

test('a script in a page is refused by its policy, should one ever get there', async () => {
  await using visit = await browser.visit();
  for (const path of ['/', '/doc?url=/openapi.yaml']) {
    await visit.page.goto(service.url + path);
    await Promise.all([
      visit.page.waitForEvent('console', (message) => message.text().includes('Content Security Policy')),
      visit.page.evaluate(`document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(MARKS)})`),
    ]);
    assert.equal(await visit.page.evaluate('document.body.dataset.ran'), undefined);
  }
});
