import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { javascriptKo, uniqueNaan, welcomeKo, zipOf } from '../acceptance/support/ko.ts';
import type { Ko } from '../acceptance/support/ko.ts';
import { openService } from '../pages/support/services.ts';
import { inRound, longTest } from '../support/round.ts';
import { theBrowser } from '../pages/support/visit.ts';
import { assertSafe, assertUsable, openConsole } from './support/console.ts';

const MARKUP = '<img src=x onerror=alert(1)>';
const naan = uniqueNaan();
const browser = await theBrowser();
const service = await openService();

const fileOf = async (ko: Ko, name = `${ko.name}.zip`) => ({
  name,
  mimeType: 'application/zip',
  buffer: await zipOf(ko.files),
});

test('a package is checked before it replaces anything, then imported, then activated, and each step is said', async () => {
  await using visit = await browser.visit({ width: 320, height: 900 }, 'dark');
  const before = welcomeKo({ naan, name: 'pkg', files: { 'gone.txt': 'gone' } });
  const next = javascriptKo(`function run(input) { return '${MARKUP}'; }`, {
    naan,
    name: 'pkg',
    endpoint: 'welcome',
    metadata: { title: MARKUP },
    files: { 'new.txt': 'new' },
  });
  await service.serve(before);
  const page = await openConsole(visit, service.url, 'add');
  const item = (name: string) =>
    page.getByRole('list', { name: 'Packages to add' }).locator('> li').filter({ hasText: name });
  await page
    .getByLabel(/^Drop packages here/)
    .setInputFiles([
      await fileOf(next, `${MARKUP}.zip`),
      { name: 'none.zip', mimeType: 'application/zip', buffer: Buffer.from('no zip') },
    ]);
  const replacing = item(`${MARKUP}.zip`);
  await replacing.getByText('Is checked. Nothing is on the shelf yet.').waitFor();
  await replacing.getByText(`It would replace ${before.id}`).waitFor();
  const differences = replacing.getByRole('table', { name: /^What differs from/ });
  const rows = await differences.locator('tbody tr').allInnerTexts();
  for (const row of ['gone.txt\tremoved', 'new.txt\tadded', 'src/index.js\tchanged'])
    assert.ok(rows.includes(row), rows.join());
  await item('none.zip').getByText('It cannot be imported as it is.').waitFor();
  assert.equal(
    await item('none.zip')
      .getByRole('button', { name: /^Import/ })
      .count(),
    0,
  );
  await assertUsable(page);
  assert.equal((await service.get(`/kos/${before.id}/gone.txt`)).text, 'gone', 'nothing is replaced yet');

  // Each check takes a process. In every run a restoration is refused for what somebody else changed.
  if (inRound(false, true)) {
    await service.add(welcomeKo({ naan, name: 'pkg', files: { 'other.txt': 'other' } }));
    await replacing.getByRole('button', { name: /^Import/ }).press('Enter');
    await replacing.getByText(/^Somebody changed .* since this was checked/).waitFor();
    assert.equal((await service.get(`/kos/${before.id}/other.txt`)).text, 'other');
    await replacing.getByRole('button', { name: /^Check again/ }).press('Enter');
    await replacing.getByRole('row', { name: 'other.txt removed' }).waitFor();
  }
  await replacing.getByRole('button', { name: /^Import/ }).press('Enter');
  await replacing.getByText('in place of what was there').waitFor();
  await replacing.getByRole('button', { name: /^Activate/ }).press('Enter');
  await replacing.getByText(`${before.id} was activated.`).waitFor();
  assert.equal((await service.post(`/${naan}/pkg/1.0/welcome`, {})).object['result'], MARKUP);
  assert.equal(await page.locator('main img, main [onerror]').count(), 0);
  assertSafe(visit, service.url);
});

// In every run packages are chosen, and go the same way from there.
if (inRound(false, true))
  test('packages that are dropped are taken too', async () => {
    await using visit = await browser.visit();
    const page = await openConsole(visit, service.url, 'add');
    const bytes = (await zipOf(welcomeKo({ naan, name: 'dropped' }).files)).toString('base64');
    await page.evaluate(`(() => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob('${bytes}'), (c) => c.charCodeAt(0))], 'dropped.zip'));
      const place = document.querySelector('.ko-drop');
      for (const type of ['dragover', 'drop']) place.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    })()`);
    await page.getByText(`It is new: ${naan}/dropped/v1.0`).waitFor();
    assert.equal((await service.get(`/kos/${naan}/dropped/v1.0`)).status, 404);
    await page.getByRole('button', { name: 'Import dropped.zip' }).click();
    await page.getByText(`${naan}/dropped/v1.0 is on the shelf`).waitFor();
    assertSafe(visit, service.url);
  });

/** Gives packages, and holds one back until it is told. */
async function places(kos: readonly Ko[], held: Promise<void>): Promise<Server & { readonly at: string }> {
  const zips = new Map<string, Buffer>(
    await Promise.all(kos.map(async (ko) => [`/${ko.name}.zip`, await zipOf(ko.files)] as const)),
  );
  const server = createServer((request, response) => {
    const zip = zips.get(request.url ?? '');
    const answer = (): unknown => (zip === undefined ? response.writeHead(404).end() : response.end(zip));
    if (request.url === '/held.zip') void held.then(answer);
    else answer();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(server, { at: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

longTest('a manifest is imported with its progress, and what becomes of each entry is told', async () => {
  await using visit = await browser.visit({ width: 320, height: 900 });
  const kos = ['one', 'held'].map((name) => welcomeKo({ naan, name }));
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const server = await places(kos, held);
  try {
    const page = await openConsole(visit, service.url, 'add');
    await page
      .getByLabel(/^A manifest as JSON/)
      .fill(`${server.at}/one.zip\n${server.at}/held.zip\n${server.at}/missing.zip`);
    await page.getByRole('button', { name: 'Import', exact: true }).press('Enter');
    await page.getByText('2 of 3').waitFor();
    release();
    await page.getByText('2 knowledge objects were imported, 1 entry was not.').waitFor();
    const row = page.getByRole('table', { name: 'Not imported' }).getByRole('row').last();
    assert.match(await row.innerText(), /missing\.zip\s+answered with the status 404/);
    await assertUsable(page);
    await page.getByRole('button', { name: 'Activate what was imported' }).press('Enter');
    await page.getByText('2 knowledge objects were activated.').waitFor();
    assert.equal((await service.post(`/${naan}/held/1.0/welcome`, { name: 'Ada' })).status, 200);
    await page.getByLabel(/^A manifest as JSON/).fill(`{"manifest": ["${server.at}/missing.zip"]}`);
    await page.getByRole('button', { name: 'Import', exact: true }).press('Enter');
    await page.getByText('0 knowledge objects were imported, 1 entry was not.').waitFor();
    await page.getByLabel(/^A manifest as JSON/).fill('{"manifest": ');
    await page.getByRole('button', { name: 'Import', exact: true }).press('Enter');
    await page.getByRole('alert').getByText(/JSON/).waitFor();
    assertSafe(visit, service.url);
  } finally {
    release();
    server.close();
    server.closeAllConnections();
  }
});
