/** What leaves the shelf is in use by who runs, whatever somebody does to the clock. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { DurableFiles } from '../store/durable-files.ts';
import { takeOwnership } from '../store/owner-lock.ts';
import { shelfLayout } from '../store/shelf-layout.ts';
import { listRemoved, RemovedFolder } from './removed-folder.ts';

test('what is moved away once the clock was set back counts as in use while the activator runs', async (t) => {
  await using folder = await temporaryFolder();
  const layout = shelfLayout(folder.path);
  for (const each of [layout.home, layout.objects, join(folder.path, 'mine')]) mkdirSync(each, { recursive: true });
  t.mock.timers.enable({ apis: ['Date'], now: 1_795_000_000_000 });
  const owner = takeOwnership(layout, undefined, (message) => assert.fail(message));
  const removed = new RemovedFolder(layout, new DurableFiles());
  t.mock.timers.setTime(1_794_000_000_000);
  await removed.take('folder', join(folder.path, 'mine'));
  const inUse = (await listRemoved(folder.path)).map((each) => each.inUse);
  owner.release();
  assert.deepEqual(inUse, [true]);
});
