import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShelfEntry } from '../shelf/shelf.ts';
import { ShelfReader } from './collect.ts';

const PATIENCE_MS = 20;

function shelfOf(check: () => Promise<void>) {
  const asked = { checks: 0, lists: 0 };
  const shelf = {
    check: () => (asked.checks++, check()),
    revision: () => Promise.resolve(1),
    list: () => (asked.lists++, Promise.resolve(Array<ShelfEntry>(3))),
  };
  return { asked, reader: new ShelfReader(shelf, PATIENCE_MS) };
}

test('many who ask look once', async () => {
  const { asked, reader } = shelfOf(() => Promise.resolve());
  const all = await Promise.all(Array.from({ length: 50 }, () => reader.figures()));
  for (const each of all) assert.deepEqual(each, { kos: 3, isReadable: true });
  assert.deepEqual(asked, { checks: 1, lists: 1 });
});

test('a shelf that cannot be read, or says nothing, is told of', async () => {
  const { reader } = shelfOf(() => Promise.reject(new Error('gone')));
  assert.deepEqual(await reader.figures(), { kos: undefined, isReadable: false });
  const { promise: hangs, resolve } = Promise.withResolvers<void>();
  const { asked, reader: waiting } = shelfOf(() => hangs);
  for (let i = 0; i < 3; i++) assert.deepEqual(await waiting.figures(), { kos: undefined, isReadable: false });
  assert.equal(asked.checks, 1, 'one look at a time');
  resolve();
  await new Promise((later) => setImmediate(later));
  assert.deepEqual(await waiting.figures(), { kos: 3, isReadable: true });
});
