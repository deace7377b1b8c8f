import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { javascriptKo, serviceDescriptor, uniqueNaan, welcomeKo, WELCOME } from '../acceptance/support/ko.ts';
import { inRound, longTest } from '../support/round.ts';
import { execute, openEditor } from './support/editor.ts';
import { openService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

const naan = uniqueNaan();
const browser = await theBrowser();
const service = await openService();

const welcome = { path: '/welcome', consumes: ['application/json'], deployment: {} };

longTest('remote references are not followed, and said in one line', async () => {
  const ko = welcomeKo({ naan, name: 'remote' });
  await service.serve(ko);
  await using visit = await browser.visit();
  await openEditor(visit.page, service.url, `/kos/${ko.id}/service.yaml`);
  const { status, answer } = await execute(visit.page, 'welcome');
  assert.deepEqual([status, answer['result']], [200, 'Welcome to the Knowledge Grid, Ada']);
  assert.deepEqual(await visit.page.locator('#notes li').allInnerTexts(), [
    'Described elsewhere, and not shown here: https://schemas.invalid/error.yaml#/components/schemas/error',
  ]);
  assert.equal(await visit.page.locator('.errors-wrapper').count(), 0);
  visit.assertQuiet(service.url);
});

longTest('files of the same package are followed, other places of the service are not', async () => {
  const operation = (schema: object): object => ({
    post: {
      requestBody: { content: { 'application/json': { schema } } },
      responses: { 200: { description: 'OK' } },
    },
  });
  const ko = welcomeKo({
    naan,
    name: 'parts',
    files: {
      'service.yaml': stringify({
        ...serviceDescriptor(`/${naan}/parts`, '1.0', []),
        paths: {
          '/welcome': operation({ $ref: 'parts/input.yaml#/input' }),
          '/other': operation({ $ref: '/actuator/activation/reload' }),
        },
      }),
      'parts/input.yaml': stringify({ input: { type: 'object', properties: { name: { example: 'Grace' } } } }),
    },
  });
  await service.serve(ko);
  await using visit = await browser.visit();
  await openEditor(visit.page, service.url, `/kos/${ko.id}/service.yaml`);
  assert.equal((await execute(visit.page, 'welcome')).answer['result'], 'Welcome to the Knowledge Grid, Grace');
  assert.match(await visit.page.locator('#notes').innerText(), /\/actuator\/activation\/reload/);
  assert.deepEqual(
    visit.requests.filter((url) => url.includes('/actuator')),
    [],
  );
  visit.assertQuiet(service.url);
});

longTest('whatever servers a descriptor names, this service is called, in the version that was opened', async () => {
  const versions = ['v1.0', 'v2.0'].map((version) =>
    welcomeKo({
      naan,
      name: 'elsewhere',
      version,
      // Two knowledge object versions with one API version: the older is active under its own.
      apiVersion: '7',
      serverUrl: `https://other.invalid/${naan}/elsewhere`,
      files: { 'src/index.js': `function run() { return "${version}"; }` },
    }),
  );
  await service.serve(...versions);
  await using visit = await browser.visit();
  for (const { id, version } of inRound(versions.slice(0, 1), versions)) {
    await openEditor(visit.page, service.url, `/kos/${id}/service.yaml`);
    const { url, answer } = await execute(visit.page, 'welcome');
    assert.equal(answer['result'], version);
    assert.equal(new URL(url).pathname, `/${naan}/elsewhere/${version === 'v2.0' ? '7' : version}/welcome`);
  }
  visit.assertQuiet(service.url);
});

const MARKS = `<img src=x onerror="document.body.dataset.ran='img'"><script>document.body.dataset.ran='script'</script>`;
const LINK = 'javascript:document.body.dataset.ran="link"';

test('HTML, scripts and script links of a descriptor or of metadata do not run, on either page', async () => {
  const ko = javascriptKo(WELCOME, {
    naan,
    name: 'hostile',
    endpoint: 'welcome',
    metadata: { title: `Title ${MARKS}` },
    files: {
      'service.yaml': stringify({
        ...serviceDescriptor(`/${naan}/hostile`, '1.0', [welcome]),
        info: {
          title: `Title ${MARKS}`,
          version: '1.0',
          description: `${MARKS} [press](${LINK}) <a href='${LINK}'>here</a> <form action="https://other.invalid">`,
          termsOfService: LINK,
          contact: { name: 'Contact', url: LINK },
          license: { name: 'License', url: LINK },
        },
        externalDocs: { url: LINK, description: `Docs ${MARKS}` },
      }),
    },
  });
  await service.serve(ko);
  await using visit = await browser.visit();
  const { page } = visit;
  const ran = (): Promise<unknown> => page.evaluate('document.body.dataset.ran');
  await page.goto(`${service.url}/?q=${naan}`);
  await page.getByRole('heading', { name: '<img src=x onerror' }).waitFor();
  assert.equal(await page.locator('#list img, #list script').count(), 0);
  assert.equal(await ran(), undefined);

  await openEditor(page, service.url, `/kos/${ko.id}/service.yaml`);
  await page.getByRole('heading', { name: 'Title <img' }).last().waitFor();
  await page.locator('.opblock').first().waitFor();
  const hrefs = await page.evaluate<string[]>(`[...document.querySelectorAll('a')].map((a) => a.href)`);
  assert.ok(hrefs.length > 4, 'the links of the descriptor are shown');
  assert.deepEqual(
    hrefs.filter((href) => href.startsWith('javascript:')),
    [],
  );
  assert.equal(await page.locator('#editor script, #editor form, #editor [onerror]').count(), 0);
  assert.equal(await ran(), undefined);
});

test('a script in a page is refused by its policy, should one ever get there', async () => {
  await using visit = await browser.visit();
  for (const path of ['/', '/doc']) {
    await visit.page.goto(service.url + path);
    await Promise.all([
      visit.page.waitForEvent('console', (message) => message.text().includes('Content Security Policy')),
      visit.page.evaluate(`document.body.insertAdjacentHTML('beforeend', ${JSON.stringify(MARKS)})`),
    ]);
    assert.equal(await visit.page.evaluate('document.body.dataset.ran'), undefined);
  }
});
