/** Packages are checked and tried before they replace anything. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { javascriptKo, ko, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { openFront } from './support/front.ts';
import { ownExampleService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';

const naan = uniqueNaan();
const browser = await theBrowser();
const service = await ownExampleService({ folders: ['cpic-cyp2d6-v1.0'], args: ['--runtimes', 'node'] });

const fileOf = async ({ files }: Ko, name: string) => ({
  name,
  mimeType: 'application/zip',
  buffer: await zipOf(files),
});
const of = (answer: number) => javascriptKo(`function run() { return ${answer}; }`, { naan, name: 'added' });
const nodeKo = ko({
  ...{ naan, name: 'node' },
  endpoints: [
    {
      path: '/run',
      consumes: ['application/json'],
      deployment: { engine: 'node', artifact: 'index.mjs', function: 'run' },
    },
  ],
  files: {
    'index.mjs': 'export const run = (input) => input * 2;',
    'worked-examples.yaml': '- { name: It doubles, endpoint: /run, input: 2, expect: 4 }\n',
  },
});

test('those of one id stand together, each says what it does, and what must fail has no button', async () => {
  await service.serve(of(1));
  await using visit = await browser.visit();
  const page = await openFront(visit, service.url, 'add');
  const broken: Ko = { ...of(3), files: { ...of(3).files, 'deployment.yaml': '/run: [' } };
  await page
    .getByLabel(/^Drop packages here/)
    .setInputFiles([
      await fileOf(of(1), 'same.zip'),
      await fileOf(of(2), 'two.zip'),
      await fileOf(of(4), 'four.zip'),
      await fileOf(broken, 'broken.zip'),
      await fileOf(nodeKo, 'node.zip'),
    ]);
  const list = page.getByRole('list', { name: 'Packages to add' });
  const item = (name: string) =>
    list
      .locator('li')
      .filter({ has: page.getByRole('heading', { name }) })
      .last();
  await item('node.zip').getByText(`New: ${nodeKo.id}`).waitFor();
  await list.getByText(`4 packages have the id ${of(1).id}`).waitFor();
  await item('same.zip').getByText('Same content as').waitFor();
  await item('two.zip').getByText('Replaces').waitFor();
  await item('broken.zip').getByText('Cannot be imported').waitFor();
  for (const name of ['same.zip', 'broken.zip'])
    assert.equal(
      await item(name)
        .getByRole('button', { name: /^Import/ })
        .count(),
      0,
      name,
    );
  // Code of an engine that runs beside the service is tried too, without being there.
  await item('node.zip').getByText('1 worked example gives the expected result.').waitFor();
  assert.equal((await service.get(`/kos/${nodeKo.id}`)).status, 404);

  await item('two.zip')
    .getByRole('button', { name: /^Import/ })
    .click();
  await item('two.zip').getByText('in place of what was there').waitFor();
  // What the others would replace is another package now, and somebody else may be at it too.
  await item('same.zip').getByText('Replaces').waitFor();
  await item('four.zip').getByText('Nothing is on the shelf yet.').waitFor();
  await service.add(of(5));
  await item('four.zip')
    .getByRole('button', { name: /^Import/ })
    .click();
  await item('four.zip').getByText('Somebody changed').waitFor();
  assert.equal((await service.post(`/${naan}/added/1.0/run`, {})).object['result'], 1);

  await item('node.zip')
    .getByRole('button', { name: /^Import/ })
    .click();
  await item('node.zip')
    .getByRole('button', { name: /^Activate and try/ })
    .click();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  assert.ok(page.url().endsWith(`#/kos/${nodeKo.id}/try`));
  assert.equal((await service.post(`/${naan}/node/1.0/run`, 4)).object['result'], 8);
});
