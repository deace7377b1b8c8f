import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { clientOf } from '../acceptance/support/knowledge-grid.ts';
import { promised } from '../support/promised.ts';
import { edit, filesIn, fromTemplate, lineOf, startKgrid, temporaryFolder } from './kgrid.ts';
import type { Event } from './kgrid.ts';
import { longTest } from '../support/round.ts';

const INPUT = { systolic: 120, diastolic: 80 };

const examplesOf = (event: Event): boolean[] =>
  (event['examples'] as { passed: boolean }[]).map(({ passed }) => passed);
const problemsOf = (event: Event): string[] =>
  (event['problems'] as { file: string; line?: number }[]).map(({ file, line }) => `${file}:${line ?? ''}`);

async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of await filesIn(folder)) hash.update(file).update(await readFile(join(folder, file)));
  return hash.digest('hex');
}

test('what is saved is active at once, and what is broken is named while the last good one serves', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'map');
  const before = await digestOf(folder.path);
  await using running = startKgrid(['play', 'map', '--port', '0'], { cwd: folder.path, env: { TMPDIR: tmpdir() } });
  const { url } = await running.next(({ event }) => event === 'listening');
  const client = clientOf(String(url));
  const result = async (): Promise<unknown> => (await client.post('/test/map/1.0/calculate', INPUT)).object['result'];
  const changed = (): Promise<Event> => running.next(({ event }) => event === 'changed');
  const loaded = await running.next(({ event }) => event === 'loaded');
  assert.deepEqual([loaded['ko'], examplesOf(loaded), problemsOf(loaded)], ['test/map/v1.0', [true, true, true], []]);
  assert.deepEqual(await result(), { meanArterialPressure: 93.3, unit: 'mmHg' });
  assert.equal(await digestOf(folder.path), before, 'the folder is only read');

  const code = join(ko, 'src/index.js');
  const good = await readFile(code, 'utf8');
  await edit(code, "unit: 'mmHg'", "unit: 'kPa'");
  const kpa = await changed();
  assert.deepEqual(await result(), { meanArterialPressure: 93.3, unit: 'kPa' });
  assert.deepEqual([examplesOf(kpa), problemsOf(kpa)], [[false, true, true], []]);
  assert.ok(Number(kpa['milliseconds']) < promised(5000), `active after ${String(kpa['milliseconds'])} ms`);

  await edit(code, 'const mean', 'const const mean');
  assert.deepEqual(problemsOf(await changed()), [`src/index.js:${await lineOf(code, 'const const mean')}`]);
  assert.equal((await client.post('/test/map/1.0/calculate', INPUT)).status, 404);

  // As editors do that save into a new file.
  await writeFile(`${code}.tmp`, good);
  await rename(`${code}.tmp`, code);
  await running.next((event) => event['event'] === 'changed' && problemsOf(event).length === 0);
  assert.deepEqual(await result(), { meanArterialPressure: 93.3, unit: 'mmHg' });

  await edit(join(ko, 'metadata.json'), '"version": "v1.0",', '"version": "v1.0"');
  const kept = await changed();
  assert.deepEqual([kept['keptAsBefore'], problemsOf(kept)], [true, ['metadata.json:6']]);
  assert.deepEqual(await result(), { meanArterialPressure: 93.3, unit: 'mmHg' });

  const { code: exit, stderr } = await running.stop('SIGINT');
  assert.deepEqual([exit, stderr], [0, '']);
});

longTest('a folder of knowledge objects follows what is added, renamed and taken away', async () => {
  await using folder = await temporaryFolder();
  const shelf = join(folder.path, 'shelf');
  await mkdir(shelf);
  const temporary = join(folder.path, 'tmp');
  await mkdir(temporary);
  await fromTemplate('resource', shelf, 'card');
  await using running = startKgrid(['play', shelf, '--port', '0', '--no-test'], { env: { TMPDIR: temporary } });
  const { url } = await running.next(({ event }) => event === 'listening');
  const client = clientOf(String(url));
  const active = async (): Promise<unknown[]> => (await client.endpoints('test')).map((each) => each['@id']);
  const loaded = (name: string) => (event: Event) =>
    event['event'] === 'loaded' && event['ko'] === `test/${name}/v1.0` && problemsOf(event).length === 0;
  const first = await running.next(loaded('card'));
  assert.deepEqual(first['examples'], []);

  // Made beside it and moved in, so that it is there as a whole.
  await fromTemplate('javascript', folder.path, 'map');
  await rename(join(folder.path, 'map'), join(shelf, 'map'));
  await running.next(loaded('map'));
  assert.deepEqual(await active(), ['test/card/1.0/files', 'test/map/1.0/calculate']);

  const metadata = join(shelf, 'map/metadata.json');
  const service = join(shelf, 'map/service.yaml');
  const renamed = (await readFile(metadata, 'utf8')).replaceAll('test/map', 'test/mean');
  await edit(service, '/test/map', '/test/mean');
  await writeFile(metadata, renamed);
  await running.next(({ event, ko }) => event === 'gone' && ko === 'test/map/v1.0');
  await running.next((event) => event['ko'] === 'test/mean/v1.0' && problemsOf(event).length === 0);
  assert.deepEqual(await active(), ['test/card/1.0/files', 'test/mean/1.0/calculate']);

  await rm(join(shelf, 'card'), { recursive: true });
  await running.next(({ event, ko }) => event === 'gone' && ko === 'test/card/v1.0');
  assert.deepEqual(await active(), ['test/mean/1.0/calculate']);

  const { code } = await running.stop('SIGTERM');
  assert.equal(code, 0);
  assert.deepEqual(await readdir(temporary), [], 'its temporary shelf goes with it');
});

longTest('an engine that is not here is a problem of the endpoint', async () => {
  await using folder = await temporaryFolder();
  const ko = await fromTemplate('javascript', folder.path, 'map');
  await edit(join(ko, 'deployment.yaml'), 'engine: javascript', 'engine: js');
  await using running = startKgrid(['play', ko, '--port', '0']);
  const loaded = await running.next(({ event }) => event === 'loaded');
  assert.deepEqual(problemsOf(loaded), ['deployment.yaml:3']);
  await edit(join(ko, 'deployment.yaml'), 'engine: js', 'engine: javascript');
  const changed = await running.next((event) => event['event'] === 'changed' && problemsOf(event).length === 0);
  assert.deepEqual(examplesOf(changed), [true, true, true]);
});

test('a folder without a knowledge object, and a port that is taken, are told', async () => {
  await using folder = await temporaryFolder();
  await using empty = startKgrid(['play', folder.path]);
  await assert.rejects(
    empty.next(() => true),
    /ended with 2: There is no knowledge object in .* "kgrid create .*" makes one/,
  );
  const ko = await fromTemplate('resource', folder.path, 'card');
  await using first = startKgrid(['play', ko, '--port', '0']);
  const { url } = await first.next(({ event }) => event === 'listening');
  await using second = startKgrid(['play', ko, '--port', new URL(String(url)).port]);
  await assert.rejects(
    second.next(() => true),
    /ended with 3: Port \d+ is in use: choose another with --port/,
  );
});
