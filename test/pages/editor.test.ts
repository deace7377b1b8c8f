import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inRound, longTest } from '../support/round.ts';
import { execute, openEditor } from './support/editor.ts';
import { exampleService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

const service = await exampleService();
const browser = await theBrowser();

test('the only operation is open at once without a choice of one server, what was typed is what is sent, and what the code says of the input is shown', async () => {
  await using visit = await browser.visit();
  await openEditor(visit.page, service.url, '/kos/cpic/cyp2d6/v1.0/service.yaml');
  await visit.page.getByRole('button', { name: 'Execute' }).waitFor();
  assert.equal(await visit.page.getByText('Servers').filter({ visible: true }).count(), 0);
  const typed = await execute(visit.page, 'phenotype', '*4/*5');
  assert.equal((typed.answer['result'] as Record<string, unknown>)['phenotype'], 'Poor Metabolizer');
  const wrong = await execute(visit.page, 'phenotype', 'no diplotype');
  assert.equal(wrong.status, 400);
  assert.match(String(wrong.answer['Detail']), /one CYP2D6 diplotype/);
});

longTest('endpoints that are not active are said, with the reason', async () => {
  await using visit = await browser.visit();
  await openEditor(visit.page, service.url, '/kos/demo/broken/v1.0/service.yaml');
  const notes = await visit.page.locator('#notes li').allInnerTexts();
  assert.equal(notes.length, 2);
  assert.match(notes.join('\n'), /^\/syntax is not active: SyntaxError: .+src\/syntax-error\.js line 3/m);
  visit.assertQuiet(service.url);
});

longTest('several operations are a list', async () => {
  await using visit = await browser.visit();
  const { page } = visit;
  await openEditor(page, service.url, '/kos/anthropometry/bodysize/1.0/service.yaml');
  assert.equal(await page.locator('.opblock').count(), 2);
  assert.equal(await page.locator('.opblock.is-open').count(), 0);
  visit.assertQuiet(service.url);
});

// Of all forms the largest.
if (inRound(false, true))
  test('the interface of the service itself can be opened and tried', async () => {
    await using visit = await browser.visit();
    await openEditor(visit.page, service.url, '/openapi.yaml');
    const { status, url } = await execute(visit.page, 'actuator/health');
    assert.deepEqual([status, url], [200, `${service.url}/actuator/health`]);
    visit.assertQuiet(service.url);
  });

const BAD: Readonly<Record<string, readonly [path: string, message: RegExp]>> = {
  'another host without scheme': ['/doc?url=//other.invalid/x.yaml', /must be one of this service/],
  'a script': ['/doc?url=javascript:alert(1)', /must be one of this service: javascript:alert\(1\)/],
  'a path that acts': ['/doc?url=/actuator/activation/reload', /No service descriptor can be read at .+405/],
  ...inRound(
    {},
    {
      'no address': ['/doc', /^Add \?url= with the path of a service descriptor/],
      'an empty one': ['/doc?url=', /^Add \?url=/],
      'another host': ['/doc?url=https://other.invalid/service.yaml', /must be one of this service: https:\/\/other/],
      'a data URL': ['/doc?url=data:text/yaml,openapi', /must be one of this service/],
      'what is not there': ['/doc?url=/kos/a/b/v1/service.yaml', /No service descriptor can be read at .+404/],
    },
  ),
};

test('an address that is no descriptor of this service gets a clear message', async (t) => {
  await using visit = await browser.visit();
  for (const [name, [path, message]] of Object.entries(BAD)) {
    await t.test(name, async () => {
      await visit.page.goto(service.url + path);
      const alert = visit.page.getByRole('alert');
      await alert.waitFor();
      assert.match(await alert.innerText(), message);
      assert.equal(await visit.page.locator('#editor *').count(), 0, 'and no wall of errors');
      assert.deepEqual(
        visit.requests.filter((url) => new URL(url).origin !== service.url),
        [],
      );
    });
  }
});
