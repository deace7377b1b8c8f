import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConsoleLines } from './console-lines.ts';

const BOUNDS = { lines: 10, bytes: 4_000, allBytes: 10_000, characters: 100 };
const textsOf = (all: ConsoleLines, ko: string, query = {}): string[] | undefined =>
  all.read(ko, { limit: 1000, ...query })?.lines.map(({ text }) => text);

test('the latest lines of a knowledge object stay, in their order, and those before are counted', () => {
  const all = new ConsoleLines(BOUNDS);
  for (let i = 1; i <= 1_000_000; i++) all.add('a/b/c', 'info', String(i));
  assert.deepEqual(
    textsOf(all, 'a/b/c'),
    Array.from({ length: 10 }, (_, i) => String(999_991 + i)),
  );
  assert.equal(all.read('a/b/c', { limit: 5 })?.lost, 999_990);
  assert.ok(all.bytes <= BOUNDS.bytes);
});

test('lines are cut, and large ones drive out large ones', () => {
  const all = new ConsoleLines(BOUNDS);
  for (let i = 0; i < 1000; i++) all.add('a/b/c', 'info', 'x'.repeat(1_000_000));
  const texts = textsOf(all, 'a/b/c') ?? [];
  assert.deepEqual([...new Set(texts)], [`${'x'.repeat(100)}…`]);
  assert.ok(texts.length > 5 && all.bytes <= BOUNDS.bytes);
});

test('whoever says much loses its own lines, not those of who says little', () => {
  const all = new ConsoleLines(BOUNDS);
  all.add('quiet/ko/1', 'warn', 'the only one');
  for (let ko = 0; ko < 50; ko++) for (let i = 0; i < 50; i++) all.add(`loud/ko${ko}/1`, 'info', 'y'.repeat(90));
  assert.deepEqual(textsOf(all, 'quiet/ko/1'), ['the only one']);
  assert.ok(all.bytes <= BOUNDS.allBytes);
  assert.equal(textsOf(all, 'loud/ko'), undefined);
});

test('what is asked for is what is given: behind a line, from a level on, the latest of them', () => {
  const all = new ConsoleLines(BOUNDS);
  for (const level of ['debug', 'info', 'warn', 'error'] as const) all.add('a/b/c', level, level);
  all.add('other/b/c', 'error', 'of another');
  assert.deepEqual(textsOf(all, 'a/b/c', { level: 'warn' }), ['warn', 'error']);
  assert.deepEqual(textsOf(all, 'a/b/c', { limit: 1 }), ['error']);
  const [, second] = all.read('a/b/c', { limit: 10 })?.lines ?? [];
  assert.deepEqual(textsOf(all, 'a/b/c', { after: second?.id }), ['warn', 'error']);
});
