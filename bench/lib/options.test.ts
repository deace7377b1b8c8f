import assert from 'node:assert/strict';
import test from 'node:test';
import { readOptions } from './options.ts';

test('takes as many records as it says, and no more', () => {
  assert.deepEqual(readOptions(['--records', '10000,10000000,100000000'], []).records, [1e4, 1e7, 1e8]);
  assert.throws(() => readOptions(['--records', '100000001'], []), /must be a whole number from 1 to 100000000$/);
});
