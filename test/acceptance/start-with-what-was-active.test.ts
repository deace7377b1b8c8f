import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { explode } from './support/folders.ts';
import type { Client } from './support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { IN_DATABASE, startService, temporaryFolder } from './support/service.ts';

const RESTORE = ['--start', 'restore'];

const saying = (text: string, naan: string, name: string): Ko =>
  javascriptKo(`function run() { return "${text}"; }`, { naan, name });

/** What the KOs of these names answer; the status where one does not. */
const answersOf = (service: Client, naan: string, ...names: readonly string[]): Promise<readonly unknown[]> =>
  Promise.all(
    names.map(async (name) => {
      const answer = await service.post(`/${naan}/${name}/1.0/run`, {});
      return answer.status === 200 ? answer.object['result'] : answer.status;
    }),
  );

test('--start restore activates what was active when the last activator stopped; without it a start activates the shelf', async () => {
  await using folder = await temporaryFolder();
  const naan = uniqueNaan();
  const names = ['replaced', 'imported', 'deleted'];
  {
    await using first = await startService({ shelf: folder.path, args: RESTORE });
    await first.serve(saying('old', naan, 'replaced'), saying('here', naan, 'deleted'));
    await first.add(saying('new', naan, 'replaced'), saying('new', naan, 'imported'));
    await first.delete(`/kos/${saying('here', naan, 'deleted').id}`);
    assert.deepEqual(await answersOf(first, naan, ...names), ['old', 404, 'here']);
    await first.stop('SIGKILL');
  }
  {
    await using second = await startService({ shelf: folder.path, args: RESTORE });
    assert.deepEqual(await answersOf(second, naan, ...names), ['old', 404, 'here']);
    await second.reload(saying('new', naan, 'imported'));
  }
  {
    await using third = await startService({ shelf: folder.path, args: RESTORE });
    assert.deepEqual(await answersOf(third, naan, ...names), ['old', 'new', 'here']);
  }
  await using fourth = await startService({ shelf: folder.path });
  assert.deepEqual(await answersOf(fourth, naan, ...names), ['new', 'new', 404]);
});

test(
  '--start restore activates a new shelf, what start manifests bring and what people put into the folder',
  { skip: IN_DATABASE && 'nobody puts folders into a database' },
  async () => {
    await using folder = await temporaryFolder();
    await using other = await temporaryFolder();
    const naan = uniqueNaan();
    await explode(saying('one', naan, 'changed'), folder.path, 'changed');
    await explode(saying('one', naan, 'gone'), folder.path, 'gone');
    await writeFile(join(other.path, 'listed.zip'), await zipOf(saying('one', naan, 'listed').files));
    await writeFile(join(other.path, 'manifest.json'), '["listed.zip"]');
    {
      await using first = await startService({ shelf: folder.path, args: RESTORE });
      assert.deepEqual(await answersOf(first, naan, 'changed', 'gone', 'listed'), ['one', 'one', 404]);
    }
    await explode(saying('two', naan, 'changed'), folder.path, 'changed');
    await explode(saying('one', naan, 'added'), folder.path, 'added');
    await rm(join(folder.path, 'gone'), { recursive: true });
    const args = [...RESTORE, '--manifest', join(other.path, 'manifest.json')];
    await using second = await startService({ shelf: folder.path, args });
    const names = ['changed', 'gone', 'listed', 'added'];
    assert.deepEqual(await answersOf(second, naan, ...names), ['two', 404, 'one', 'one']);
  },
);
