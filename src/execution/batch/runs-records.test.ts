import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { resultLine, textsOf } from '../../engines/records.ts';
import type { RecordBlock, RecordsAnswer } from '../../engines/records.ts';
import { HeldBytes } from '../held-bytes.ts';
import { RecordBatch } from './run-records.ts';
import type { BatchParts } from './run-records.ts';

const echo = (records: RecordBlock): Promise<RecordsAnswer> => Promise.resolve(textsOf(records).map(resultLine));

function batchOf(parts: Partial<BatchParts> = {}) {
  const written: string[] = [];
  const held = new HeldBytes(1e9);
  const batch = new RecordBatch({
    run: echo,
    write: (lines) => void written.push(Buffer.from(lines, 'latin1').toString()),
    errorText: (error) => JSON.stringify(error.message),
    mostBytes: 1000,
    mostInVain: 1000,
    held,
    onProgress: () => undefined,
    ...parts,
  });
  return { batch, text: () => written.join('') };
}

async function* bytesOf(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) {
    await turn();
    yield Buffer.from(text);
  }
}

test('what is not read is not run: nothing is read on while an answer waits to be taken', async () => {
  const taken = Promise.withResolvers<void>();
  let ran = 0;
  let given = 0;
  const { batch } = batchOf({
    run: (records) => {
      ran += records.count;
      return echo(records);
    },
    write: () => taken.promise,
  });
  const source = (async function* () {
    for (; given < 1000; given++) {
      await turn();
      yield Buffer.from('1\n'.repeat(100));
    }
  })();
  const done = batch.process(source);
  for (let i = 0; i < 200; i++) await turn();
  assert.ok(ran < 1000 && given < 100, `${ran} records ran, ${given} pieces were read`);
  taken.resolve();
  assert.deepEqual(await done, { records: 100_000, failed: 0 });
});

test('bytes that never become a record end the batch', async () => {
  const { batch, text } = batchOf();
  const blank = Array<string>(20).fill('\n'.repeat(100));
  await assert.rejects(batch.process(bytesOf('1\n', ...blank)), /No record ends within 1000 bytes/);
  assert.match(text(), /^\{"result":1\}\n\{"error":"No record.*"line":1\d\d\d\}\n$/);
});

test('where the endpoint cannot be called the batch ends, and lets go of all that it held', async () => {
  let now = 0;
  const held = Object.assign(new HeldBytes(1e9), {
    grow: (_size: number, by: number) => ((now += by), true),
    add: (by: number) => void (now += by),
    shrink: (by: number) => void (now -= by),
  });
  const { batch } = batchOf({ held, run: () => Promise.reject(new Error('not active')) });
  const source = bytesOf(...Array<string>(50).fill('1\n'.repeat(300)), '12345');
  await assert.rejects(batch.process(source), /not active/);
  for (let i = 0; i < 20; i++) await turn();
  assert.equal(now, 0);
});

test('large answers make small pieces', async () => {
  const sizes: number[] = [];
  const { batch } = batchOf({
    run: (records) => {
      sizes.push(records.count);
      return Promise.resolve(textsOf(records).map(() => resultLine(`"${'x'.repeat(200_000)}"`)));
    },
  });
  await batch.process(bytesOf('1\n'.repeat(500)));
  assert.ok(Math.max(...sizes) <= 6, String(sizes));
});

test('a batch goes on where others hold all memory, one piece at a time', async () => {
  let most = 0;
  let open = 0;
  const { batch } = batchOf({
    mostBytes: 1e6,
    held: new HeldBytes(1),
    run: async (records) => {
      most = Math.max(most, ++open);
      await turn();
      open--;
      return textsOf(records).map(() => resultLine('1'));
    },
  });
  const record = `"${'x'.repeat(100_000)}"\n`;
  // Each is whole in its chunk, so that none has begun and waits.
  const totals = await batch.process(bytesOf(...Array<string>(10).fill(record)));
  assert.deepEqual([totals.records, most], [10, 1]);
});
