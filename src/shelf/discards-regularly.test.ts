import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discardRegularly } from './scrub.ts';

test('it is done again and again, also after it failed, and not once the shelf is closed', async () => {
  const warnings: string[] = [];
  let times = 0;
  const often = Promise.withResolvers<undefined>();
  const shelf = {
    discardRemoved: (): Promise<number> => {
      times++;
      if (times === 2) return Promise.reject(new Error('the disk'));
      if (times === 4) often.resolve(undefined);
      return Promise.resolve(0);
    },
  };
  const hold = setInterval(() => undefined, 1000);
  {
    using discarding = discardRegularly(shelf, (message) => warnings.push(message), { first: 1, every: 1 });
    await often.promise;
    assert.ok(discarding);
  }
  const then = times;
  await new Promise((resolve) => setTimeout(resolve, 20));
  clearInterval(hold);
  assert.equal(times, then);
  assert.equal(warnings.length, 1);
});
