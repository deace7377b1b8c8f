/** Archives that unpack to far more than they are, uploaded by several clients at once, beside one who must not notice. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { uniqueNaan } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { entriesOf, KO, koWith, zeros } from '../archives/parts.ts';
import { buildZip } from '../archives/zip-builder.ts';
import { Companion, wellBehavedKo } from '../hostile/support/companion.ts';
import { assertBackTo, MEGABYTE, Peak, restingFootprintOf } from '../hostile/support/footprint.ts';

const AT_ONCE = 3;

const owned = new AsyncDisposableStack();
after(() => owned.disposeAsync());
const service = owned.use(await startService());
const well = wellBehavedKo(uniqueNaan());
await service.serve(well);

const [bomb20, bomb99, bomb200] = await Promise.all([20, 99, 200].map((size) => zeros(size * MEGABYTE)));
const { raw, ...claims } = bomb20 ?? assert.fail();
const bombs: Readonly<Record<string, Buffer>> = {
  'one large file': koWith([{ ...(bomb200 ?? assert.fail()), name: 'bomb' }]),
  'a file that is larger than it says': koWith([{ ...(bomb200 ?? assert.fail()), size: 10, name: 'bomb' }]),
  'several files': koWith(Array.from({ length: 5 }, (_, i) => ({ ...(bomb99 ?? assert.fail()), name: `b${i}` }))),
  'one content under fifty names': buildZip([
    { ...claims, raw, name: 'b' },
    ...Array.from({ length: 49 }, (_, i) => ({
      ...claims,
      name: `b${i}`,
      compressedSize: raw.length,
      withoutLocal: true,
      offset: 0,
    })),
    ...entriesOf(KO),
  ]),
  'sixty thousand files': buildZip(Array.from({ length: 60_000 }, (_, i) => ({ name: `f${i}` }))),
};
const onDisk = (): Promise<string[]> => readdir(join(service.shelf, '.kgrid'), { recursive: true });

test('bombs at the same time are refused, take little memory, and leave nothing', async () => {
  const [before, files] = [await restingFootprintOf(service.pid), (await onDisk()).sort()];
  {
    using companion = new Companion(service, well);
    using peak = new Peak(before, service.pid);
    await Promise.all(
      Object.entries(bombs).flatMap(([name, zip]) =>
        Array.from({ length: AT_ONCE }, async () => {
          const answer = await service.importZip(zip);
          assert.equal(answer.status, 400, `${name}: ${answer.text}`);
          assert.deepEqual(Object.keys(answer.object), ['Status', 'Request', 'Error', 'Time'], name);
        }),
      ),
    );
    await companion.assertUndisturbed();
    peak.assertWithin({ activator: 250 * MEGABYTE, child: 1200 * MEGABYTE });
  }
  assert.deepEqual((await onDisk()).sort(), files);
  assert.equal((await service.get('/kos')).list.length, 1);
  await assertBackTo(before, service.pid, { memory: 150 * MEGABYTE });
});
