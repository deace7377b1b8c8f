import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { RecordedNodeRuntime } from '../runtimes/support/recorded-node-runtime.ts';
import { runtimeKo } from '../runtimes/support/runtime-ko.ts';
import { until } from '../runtimes/support/until.ts';
import { measure } from './support/measure.ts';
import { prefixProxy } from './support/prefix-proxy.ts';
import { NEXT_LOOK_MS, PHONE, theBrowser } from './support/visit.ts';
import { longTest } from '../support/round.ts';

/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:1';

const naan = uniqueNaan();
const browser = await theBrowser();
const service = await startService();
after(() => service[Symbol.asyncDispose]());

longTest('an empty shelf says how to add a knowledge object', async () => {
  await using visit = await browser.visit(PHONE);
  await visit.page.goto(service.url);
  const empty = visit.page.locator('#empty');
  await empty.waitFor();
  const commands = await empty.locator('pre').innerText();
  assert.ok(commands.includes(`curl -F ko=@my-knowledge-object.zip ${service.url}/kos`), commands);
  assert.ok(commands.includes(`curl ${service.url}/actuator/activation/refresh`), commands);
  assert.equal(await visit.page.getByLabel('Search').isVisible(), false);
  const { pale, sideways } = await measure(visit.page);
  assert.deepEqual({ pale, sideways }, { pale: [], sideways: 0 });
  visit.assertQuiet(service.url);
});

longTest('a list that cannot be read is said, with the reason, until it can be read again', async () => {
  await using proxy = await prefixProxy('/behind');
  proxy.passTo(service.url);
  await using visit = await browser.visitWithClock();
  await visit.page.goto(`${proxy.url}/`);
  await visit.page.locator('#empty').waitFor();
  proxy.passTo(NOWHERE);
  await visit.page.clock.fastForward(NEXT_LOOK_MS);
  const alert = visit.page.getByRole('alert');
  await alert.waitFor();
  assert.match(await alert.innerText(), /^The list of endpoints cannot be read: .+ It is tried again\.$/);
  assert.equal(await visit.page.getByRole('status').innerText(), '');
  proxy.passTo(service.url);
  await visit.page.clock.fastForward(NEXT_LOOK_MS);
  await alert.waitFor({ state: 'hidden' });
  await service.serve(welcomeKo({ naan, name: 'later' }));
  await visit.page.clock.fastForward(NEXT_LOOK_MS);
  await visit.page.getByRole('heading', { name: 'Title of later' }).waitFor();
});

test('what was imported and what was deleted is told apart from what is active', async () => {
  const imported = welcomeKo({ naan, name: 'imported' });
  const deleted = welcomeKo({ naan, name: 'deleted' });
  await service.serve(deleted);
  await service.add(imported);
  await service.delete(`/kos/${deleted.id}`);
  await using visit = await browser.visit();
  await visit.page.goto(service.url);
  const card = (title: string) => visit.page.locator('#list > li').filter({ hasText: `Title of ${title}` });
  assert.match(
    await card('imported').innerText(),
    /not activated\s+It is on the shelf .*\/actuator\/activation\/refresh/,
  );
  assert.ok((await card('deleted').innerText()).includes(`${deleted.id}\nactive`));
  assert.match(await card('deleted').innerText(), /The shelf has nothing under this id any more/);
  assert.equal(await card('deleted').locator('a').count(), 0, 'no links that lead nowhere');
  assert.deepEqual(await card('imported').locator('a').allInnerTexts(), ['About', 'Metadata', 'Package']);
  visit.assertQuiet(service.url);
});

longTest('knowledge objects of one title are told apart by their ids, active or not', async () => {
  const metadata = { title: 'Shared title' };
  const [active, idle] = ['v1.0', 'v2.0'].map((version) => welcomeKo({ naan, name: 'shared', version, metadata }));
  assert.ok(active && idle);
  await service.serve(active);
  await service.add(idle);
  await using visit = await browser.visit();
  await visit.page.goto(service.url);
  const heading = visit.page.getByRole('heading', { name: 'Shared title' });
  await heading.first().waitFor();
  assert.deepEqual(await heading.allInnerTexts(), [`Shared title ${active.id}`, `Shared title ${idle.id}`]);
  const names = await visit.page.evaluate<string[]>(
    `[...document.querySelectorAll('#list a')].map((each) => each.ariaLabel)`,
  );
  assert.equal(new Set(names).size, names.length, 'every link has a name of its own');
  visit.assertQuiet(service.url);
});

longTest(
  'while an endpoint is being activated, the page looks again until it is decided, and keeps the focus',
  async () => {
    const engine = 'slow';
    await service.serve(
      welcomeKo({ naan, name: 'fast' }),
      runtimeKo({ naan, name: 'slow', engine, code: { 'a.js': '' } }),
    );
    await using runtime = await RecordedNodeRuntime.start(service, engine);
    let isReady = false;
    runtime.intercept = ({ path }, response) => {
      if (path !== '/endpoints' || isReady) return false;
      response.writeHead(503).end('{"description": "Endpoint is in processing, try again later."}');
      return true;
    };
    await until('it is being activated', async () =>
      (await service.endpoints(naan)).some((each) => each['status'] === 'LOADED') ? true : undefined,
    );
    await using visit = await browser.visit();
    await visit.page.goto(service.url);
    const item = visit.page.locator('#list ul > li').filter({ hasText: '/slow/' });
    await item.filter({ hasText: 'being activated' }).waitFor();
    const link = visit.page.getByRole('link', { name: 'Try it: Title of fast' });
    await link.focus();
    isReady = true;
    await item.and(visit.page.locator('.ACTIVATED')).waitFor();
    assert.equal(
      await link.evaluate('document.activeElement?.getAttribute("aria-label")'),
      `Try it: Title of fast, ${naan}/fast/v1.0`,
    );
    const asked = visit.requests.filter((url) => url.endsWith('/endpoints')).length;
    assert.ok(asked < 20, `asked ${asked} times`);
    visit.assertQuiet(service.url);
  },
);
