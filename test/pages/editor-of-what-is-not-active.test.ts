import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { explode } from '../acceptance/support/folders.ts';
import { uniqueNaan, welcomeKo } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { openEditor } from './support/editor.ts';
import { theBrowser } from './support/visit.ts';

const naan = uniqueNaan();
const browser = await theBrowser();
const password = 'a long password of a test';
// Who is not logged in may not read in the health of this one why something is not active.
const service = await startService({
  profile: 'secure',
  env: { KGRID_USER: 'ann', KGRID_PASSWORD: password },
  credentials: `ann:${password}`,
});
after(() => service[Symbol.asyncDispose]());

async function firstNote(id: string): Promise<string> {
  await using visit = await browser.visit();
  await openEditor(visit.page, service.url, `/kos/${id}/service.yaml`);
  return await visit.page.locator('#notes li').first().innerText();
}

const NOT_ACTIVATED = 'This knowledge object is not activated, so calls are answered with 404: ';

test('of a knowledge object that could not be loaded, the cause is said, and what to do', async () => {
  const broken = welcomeKo({ naan, name: 'broken', files: { 'deployment.yaml': '{ not yaml' } });
  await explode(broken, service.shelf, 'broken');
  await service.get('/actuator/activation/reload');
  const note = await firstNote(broken.id);
  assert.ok(
    note.startsWith(`${NOT_ACTIVATED}${broken.id} does not run: deployment.yaml is not valid YAML: line 1`),
    note,
  );
  assert.ok(note.endsWith(`. When that is mended, GET /actuator/activation/reload/${broken.id} activates it`), note);
});

test('of a knowledge object that was never loaded, what to do is said', async () => {
  const idle = welcomeKo({ naan, name: 'idle' });
  await service.add(idle);
  const { id } = idle;
  const reload = `GET /actuator/activation/reload/${id} activates it`;
  assert.equal(await firstNote(id), `${NOT_ACTIVATED}${id} is on the shelf but not active: ${reload}`);
});
