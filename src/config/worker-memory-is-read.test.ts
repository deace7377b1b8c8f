import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toWorkerMemory } from './config.ts';

const read = (...values: string[]): unknown => toWorkerMemory(values, '--worker-memory');

test('a size alone is for every engine with workers, and one with a name for that engine, in any order', () => {
  assert.deepEqual(read(), {});
  assert.deepEqual(read('1GB'), { node: 1024, python: 1024 });
  assert.deepEqual(read('python=2GB', '512MB'), { node: 512, python: 2048 });
  assert.deepEqual(read('512MB,python=2GB'), { node: 512, python: 2048 });
  assert.deepEqual(read('node=300MB'), { node: 300 });
});
