import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseKoId } from '../../knowledge-object/id.ts';
import type { KoId } from '../../knowledge-object/id.ts';
import { ChangeLog } from '../change-log.ts';
import { Duplicates } from './duplicates.ts';
import type { ExplodedKo, ExplodedPackages } from './exploded-packages.ts';
import type { StoredKo } from './load-index.ts';

const idOf = (key: string): KoId => parseKoId(key) ?? { naan: '', name: '', version: '' };
const folder = (where: string, key: string): ExplodedKo =>
  ({ where, place: { path: where }, content: { entry: { id: idOf(key) } } }) as ExplodedKo;

test('what hides a folder is looked for among what changed, and found as if all were looked at', () => {
  const log = new ChangeLog();
  const imported = new Map<string, StoredKo>();
  let folders = Array.from({ length: 1000 }, (_, i) => folder(`f${i}`, `a/n${i}/v1`));
  const foldersOf = (key: string): ExplodedKo[] =>
    folders.filter(({ content: { entry } }) => `a/${entry.id.name}/v1` === key);
  let looked = 0;
  const exploded = {
    get folders() {
      return folders;
    },
    foldersOf,
  } as unknown as ExplodedPackages;
  const duplicates = new Duplicates(exploded, log, (key) => {
    looked++;
    return imported.get(key) ?? foldersOf(key)[0];
  });
  const hidden = (): string[] => duplicates.list().map(({ where, cause }) => `${where}: ${cause}`);
  assert.deepEqual(hidden(), []);
  looked = 0;
  imported.set('a/n7/v1', { content: { entry: { id: idOf('a/n7/v1') } } } as StoredKo);
  log.note(idOf('a/n7/v1'));
  const cause = 'its "@id" a/n7/v1 is that of a package that was imported; remove one of the two';
  assert.deepEqual(hidden(), [`f7: ${cause}`]);
  assert.deepEqual(hidden(), [`f7: ${cause}`]);
  assert.equal(looked, 1);
  imported.clear();
  log.note(idOf('a/n7/v1'));
  assert.deepEqual(hidden(), []);
  // A second folder of an id changes nothing of what is served.
  folders = [...folders, folder('again', 'a/n1/v1')];
  assert.deepEqual(hidden(), ['again: its "@id" a/n1/v1 is that of the folder f1; remove one of the two']);
  // More changes than the log keeps.
  for (let i = 0; i < 10_000; i++) log.note(idOf('a/n2/v1'));
  assert.equal(hidden().length, 1);
});
