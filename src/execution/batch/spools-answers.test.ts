import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { Spool, SpoolRoom } from './spool.ts';

const folder = await mkdtemp(join(tmpdir(), 'kgrid-spool-'));
after(() => rm(folder, { recursive: true }));

test('what was put in comes out in its order, whatever the steps', async () => {
  const steps = fc.array(
    fc.oneof(fc.record({ add: fc.nat(50) }), fc.record({ take: fc.integer({ min: 1, max: 80 }) })),
  );
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const room = new SpoolRoom(1e6);
      await using spool = new Spool(folder, room);
      let [into, out, next] = ['', '', 0];
      for (const step of all) {
        if ('take' in step) out += (await spool.take(step.take)).toString();
        else {
          const bytes = Array.from({ length: step.add }, () => String.fromCharCode(97 + (next++ % 26))).join('');
          assert.equal(await spool.add(Buffer.from(bytes)), true);
          into += bytes;
        }
        assert.equal(spool.size, into.length - out.length);
      }
      while (spool.size > 0) out += (await spool.take(1000)).toString();
      assert.equal(out, into);
      assert.equal(room.take(1e6), true, 'an empty one has given its room back');
      room.giveBack(1e6);
    }),
    { numRuns: 100 },
  );
});

test('steps that overlap keep their order', async () => {
  await using spool = new Spool(folder, new SpoolRoom(1e6));
  const steps = [spool.add(Buffer.from('ab')), spool.take(9), spool.add(Buffer.from('cd')), spool.take(9)];
  assert.deepEqual(
    (await Promise.all(steps)).map((each) => (Buffer.isBuffer(each) ? each.toString() : each)),
    [true, 'ab', true, 'cd'],
  );
});

test('all of them share their room, and what is left of one is given back', async () => {
  const room = new SpoolRoom(100);
  await using one = new Spool(folder, room);
  {
    await using other = new Spool(folder, room);
    assert.equal(await other.add(Buffer.alloc(80)), true);
    assert.equal(await one.add(Buffer.alloc(30)), false);
  }
  assert.equal(await one.add(Buffer.alloc(100)), true);
});

test('its file has no name, and a folder that takes none is no room', async () => {
  await using spool = new Spool(folder, new SpoolRoom(100));
  assert.equal(await spool.add(Buffer.alloc(10)), true);
  assert.deepEqual(await readdir(folder), []);
  const room = new SpoolRoom(100);
  await using nowhere = new Spool(join(folder, 'missing'), room);
  assert.equal(await nowhere.add(Buffer.alloc(10)), false);
  assert.equal(room.take(100), true);
});

test('after its end it gives nothing and holds nothing', async () => {
  const spool = new Spool(folder, new SpoolRoom(100));
  await spool.add(Buffer.alloc(10));
  await spool[Symbol.asyncDispose]();
  assert.deepEqual([spool.size, (await spool.take(10)).length], [0, 0]);
});
