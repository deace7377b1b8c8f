/** Files and packages are streamed: however many clients read them slowly or not at all, memory is bounded. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { resourceKo, uniqueNaan, zipOf } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { unzip } from '../acceptance/support/unzip.ts';
import { Companion, wellBehavedKo } from '../hostile/support/companion.ts';
import { assertBackTo, MEGABYTE, Peak, restingFootprintOf } from '../hostile/support/footprint.ts';
import { RawClient } from './support/raw-client.ts';

const SIZE = 20 * MEGABYTE;
const READERS = 40;
const service = await startService();
after(() => service[Symbol.asyncDispose]());
const naan = uniqueNaan();
const well = wellBehavedKo(naan);
const large = resourceKo({ naan, name: 'large', resources: { 'large.bin': randomBytes(SIZE) } });
await service.serve(well);
const imported = await service.importZip(await zipOf(large.files, '', { compress: false }));
assert.equal(imported.status, 200, imported.text);
await service.reload(large);
assert.equal((await service.get(`/kos/${large.id}?format=zip`)).status, 200);

test('files and packages for clients who do not read them take little memory', async () => {
  const before = await restingFootprintOf(service.pid);
  {
    using companion = new Companion(service, well);
    using peak = new Peak(before, service.pid);
    using stack = new DisposableStack();
    const paths = [`/kos/${large.id}/large.bin`, `${pathOf(large, 'files')}/large.bin`, `/kos/${large.id}?format=zip`];
    const readers = await Promise.all(
      paths.flatMap((path) =>
        Array.from({ length: READERS }, async () => {
          const reader = await stack.use(new RawClient(service.url)).connected();
          reader.socket.pause();
          reader.write(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`);
          return reader;
        }),
      ),
    );
    await later(2000);
    // Some read on in the end, and get all of it, whatever became of the KO.
    assert.equal((await service.delete(`/kos/${large.id}`)).status, 204);
    const patient = readers.filter((_, i) => i % READERS < 2);
    let read = 0;
    for (const { socket } of patient) {
      socket.removeAllListeners('data');
      socket.on('data', (text: string) => (read += text.length)).resume();
    }
    const until = Date.now() + 20_000;
    while (read < patient.length * SIZE && Date.now() < until) await later(100);
    assert.ok(read >= patient.length * SIZE, `${read} bytes of ${patient.length} files`);
    await companion.assertUndisturbed();
    peak.assertWithin({ activator: 150 * MEGABYTE, child: 1200 * MEGABYTE });
  }
  await assertBackTo(before, service.pid, { memory: 150 * MEGABYTE });
});

test('a package is whole for a client who takes his time', async () => {
  await service.serve(large);
  const answer = await service.get(`/kos/${large.id}?format=zip`);
  const entry = (await unzip(answer.bytes)).find(({ path }) => path.endsWith('/large.bin'));
  assert.deepEqual(entry?.bytes, large.files['large.bin']);
});
