import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { frame, FrameReader } from '../../../src/engines/supervisor/frames.ts';
import { kinds } from '../../../src/engines/supervisor/messages.ts';
import { Shared } from './shared.ts';

describe('the memory shared with the watchdog', () => {
  it('lets calls begin until it is sealed', () => {
    const shared = new Shared();
    const watchdog = new Shared(shared.memory);
    assert.deepEqual([shared.begin(1), shared.begin(2)], [true, true]);
    assert.equal(watchdog.seal(), 2);
    assert.equal(shared.begin(3), false);
    assert.equal(watchdog.seal(), 2);
  });

  it('agrees with a thread that seals at any moment on which call was the last', async () => {
    const seal = `
      import { Shared } from ${JSON.stringify(new URL('./shared.ts', import.meta.url).href)};
      import { parentPort, workerData } from 'node:worker_threads';
      const shared = new Shared(workerData);
      parentPort.once('message', () => parentPort.postMessage(shared.seal()));
      parentPort.postMessage('ready');`;
    const shared = new Shared();
    const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(seal)}`), {
      workerData: shared.memory,
    });
    await new Promise((resolve) => thread.once('message', resolve));
    const sealed = new Promise((resolve) => thread.once('message', resolve));
    thread.postMessage('seal');
    let last = 0;
    while (shared.begin(last + 1)) last += 1;
    assert.equal(await sealed, last);
    await thread.terminate();
  });

  it('keeps messages until they are taken, and refuses what does not fit', () => {
    const shared = new Shared();
    assert.equal(shared.take(), undefined);
    assert.equal(shared.put(frame(kinds.answer, 1, 0, '"ä"')), true);
    assert.equal(shared.put(frame(kinds.answer, 2, 0, 'x'.repeat(60_000))), true);
    assert.equal(shared.put(frame(kinds.answer, 3, 0, 'x'.repeat(60_000))), false);
    const seen: number[] = [];
    const reader = new FrameReader((_, number) => seen.push(number));
    reader.push(shared.take() ?? assert.fail());
    assert.deepEqual(seen, [1, 2]);
    assert.equal(shared.take(), undefined);
  });
});
