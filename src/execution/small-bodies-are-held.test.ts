import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Writable } from 'node:stream';
import { test } from 'node:test';
import { HeldBytes } from './held-bytes.ts';

const KB = 1024;
const responseOf = (writableLength: number): Writable =>
  Object.assign(new EventEmitter(), { writableLength, closed: false }) as unknown as Writable;

test('many small bodies fill the budget, and the next is refused until one is let go', () => {
  const held = new HeldBytes(800 * KB);
  for (let i = 0; i < 50; i++) held.hold(16 * KB);
  assert.equal(held.held, 800 * KB);
  assert.throws(() => held.hold(1), /--max-held/);
  held.shrink(16 * KB);
  assert.equal(held.hold(16 * KB), 16 * KB);
});

test('large bodies leave an eighth of it to small ones', () => {
  const held = new HeldBytes(800 * KB);
  for (let i = 0; i < 7; i++) held.hold(100 * KB);
  assert.throws(() => held.hold(65 * KB), /--max-held/);
  assert.equal(held.grow(65 * KB, 1), false);
  assert.equal(held.hasRoom(65 * KB), false);
  assert.equal(held.hold(64 * KB), 64 * KB);
  assert.equal(held.hasRoom(64 * KB), false);
});

test('a small answer counts from when its client does not take it until the connection closes', () => {
  const held = new HeldBytes(800 * KB);
  const [taken, left] = [responseOf(0), responseOf(1)];
  held.untilSent(taken, 10 * KB);
  held.untilSent(left, 10 * KB);
  assert.equal(held.held, 10 * KB);
  left.emit('close');
  assert.equal(held.held, 0);
});
