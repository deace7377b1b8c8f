import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ENGINES } from '../../src/engines/table.ts';
import { zipOf } from '../acceptance/support/ko.ts';
import type { Answer } from '../acceptance/support/client.ts';
import { startService } from '../acceptance/support/service.ts';
import { tableOf } from './support/markdown.ts';
import { AT_ACTIVATION, AT_CALL, AT_IMPORT } from './support/mistakes.ts';
import type { Files } from './support/mistakes.ts';
import { read } from './support/project.ts';
import { shownKos } from './support/shown-kos.ts';

const document = read('docs/authoring.md');
const kos = shownKos(document);
const welcome: Files = kos.get('welcome') ?? {};
const service = await startService({ args: ['--execution-timeout', '1s'] });
after(() => service[Symbol.asyncDispose]());

/** One line, from a service with the default limit. */
const asShown = (message: unknown): string =>
  String(message)
    .replace(/\b1 s\b/, '5 s')
    .replace(`engines: ${ENGINES.map(({ name }) => name).join(', ')}`, 'engines: …')
    .replace(/\s+/g, ' ');
const shown = (firstColumn: string): string[][] =>
  tableOf(document, firstColumn).map((row) => [row[firstColumn] ?? '', (row['Message'] ?? '').replaceAll('`', '')]);

async function importOf(files: Files): Promise<Answer> {
  return service.importZip(await zipOf(files));
}

async function activate(files: Files): Promise<void> {
  const answer = await importOf(files);
  assert.equal(answer.status, 200, answer.text);
  const reloaded = await service.get(`/actuator/activation/reload/${String(answer.object['Added'])}`);
  assert.equal(reloaded.status, 303, reloaded.text);
}

test('the knowledge objects that docs/authoring.md shows can be imported as zips', async () => {
  assert.ok(kos.size >= 5);
  for (const [folder, files] of kos) {
    const answer = await importOf(files);
    assert.equal(answer.status, 200, `${folder}: ${answer.text}`);
    assert.equal((await service.delete(`/kos/${String(answer.object['Added'])}`)).status, 204);
  }
});

test('a package with a mistake is refused with the message of docs/authoring.md', async () => {
  const real: string[][] = [];
  for (const { words, make } of AT_IMPORT) {
    const answer = await importOf(make(welcome));
    assert.equal(answer.status, 400, `${words}: ${answer.text}`);
    const [, message] =
      /^MultipartFile resource \[ko\] cannot be imported: (.*)$/.exec(String(answer.object['Error'])) ?? [];
    real.push([words, message ?? answer.text]);
  }
  assert.deepEqual(shown('Mistake'), real);
});

test('an endpoint with a mistake fails with the detail of docs/authoring.md', async () => {
  const real: string[][] = [];
  for (const { words, make } of AT_ACTIVATION) {
    await activate(make(welcome));
    const failed = (await service.endpoints('hello')).filter((each) => each['status'] === 'FAILED_TO_ACTIVATE');
    assert.equal(failed.length, 1, words);
    real.push([words, asShown(failed[0]?.['detail'])]);
    for (const each of failed) await service.delete(String(each['knowledgeObject']));
    await service.get('/actuator/activation/refresh');
  }
  assert.deepEqual(shown('Slip'), real);
});

test('a call with a mistake fails with the detail of docs/authoring.md', async () => {
  const real: string[][] = [];
  const call = (
    path = '/hello/welcome/1.0/welcome',
    body = '{"name": "Ada"}',
    type = 'application/json',
  ): Promise<Answer> => service.send('POST', path, { body, headers: type === '' ? {} : { 'content-type': type } });
  await service.delete('/kos/hello/welcome/v1.0');
  await service.get('/actuator/activation/reload');
  await importOf(welcome);
  real.push(['Nothing was reloaded after the import', String((await call()).object['Detail'])]);
  for (const { words, make, path, body, type } of AT_CALL) {
    await activate(make(welcome));
    const answer = await call(path, body, type);
    assert.ok(answer.status >= 400, `${words}: ${answer.text}`);
    real.push([words, asShown(answer.object['Detail'])]);
  }
  assert.deepEqual(shown('Call'), real);
});
