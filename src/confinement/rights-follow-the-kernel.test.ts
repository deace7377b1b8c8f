import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainOf } from './landlock.ts';
import type { Walls } from './walls.ts';

const WALLS: Walls = {
  read: ['/r', '/x'],
  execute: ['/x'],
  write: ['/w'],
  connect: [443],
  calls: 'worker',
  processes: false,
};

test('each version of Landlock is asked for what it knows, and for no more', () => {
  const known = [1, 2, 3, 4, 5, 6, 7, 8].map((abi) => {
    const domain = domainOf(WALLS, abi);
    return [domain?.files, domain?.network, domain?.scopes, domain?.ports.length];
  });
  assert.deepEqual(known, [
    [0x1fff, 0, 0, 0],
    [0x3fff, 0, 0, 0],
    [0x7fff, 0, 0, 0],
    [0x7fff, 3, 0, 1],
    [0xffff, 3, 0, 1],
    [0xffff, 3, 3, 1],
    [0xffff, 3, 3, 1],
    [0xffff, 3, 3, 1],
  ]);
  assert.equal(domainOf(WALLS, 0), undefined);
});

test('no rule names a right that the domain does not handle, which the kernel would refuse', () => {
  for (const abi of [1, 2, 3, 4, 5, 6, 7])
    for (const [path, rights] of domainOf(WALLS, abi)?.rules ?? [])
      assert.equal(rights & ~(domainOf(WALLS, abi)?.files ?? 0), 0, `${path} at ${abi}`);
});

test('what may be executed may be read, what is written cannot be executed, and what is named twice may do both', () => {
  const rights = new Map(domainOf({ ...WALLS, write: ['/w', '/r'] }, 7)?.rules);
  const [execute, write, read] = [1, 2, 4];
  assert.equal((rights.get('/x') ?? 0) & (execute | write | read), execute | read);
  assert.equal((rights.get('/w') ?? 0) & (execute | write | read), write | read);
  assert.equal((rights.get('/r') ?? 0) & (execute | write | read), write | read);
});

test('who may connect anywhere is held to no port, and listens on none', () => {
  const domain = domainOf({ ...WALLS, connect: 'any' }, 7);
  assert.deepEqual([domain?.network, domain?.ports], [1, []]);
});
