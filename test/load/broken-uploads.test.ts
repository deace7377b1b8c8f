/** Uploads that break off or go wrong leave nothing: no file, no open handle, no knowledge object. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { after, test } from 'node:test';
import { upload } from '../acceptance/support/client.ts';
import { uniqueNaan, welcomeKo, zipOf } from '../acceptance/support/ko.ts';
import { startService } from '../acceptance/support/service.ts';
import { Companion, wellBehavedKo } from '../hostile/support/companion.ts';
import { assertBackTo, restingFootprintOf } from '../hostile/support/footprint.ts';
import { RawClient, postHead } from './support/raw-client.ts';

const service = await startService({ args: ['--max-package', '3MB'] });
after(() => service[Symbol.asyncDispose]());
const naan = uniqueNaan();
const well = wellBehavedKo(naan);
const present = welcomeKo({ naan, name: 'present', files: { 'noise.bin': randomBytes(2_000_000) } });
await service.serve(well, present);
const zip = await zipOf(present.files);
const whole = upload(zip);
const type = String(whole.headers?.['content-type']);
const onDisk = async (): Promise<string[]> => (await readdir(service.shelf, { recursive: true })).sort();

const before = await restingFootprintOf(service.pid);
const files = await onDisk();

test('uploads that break off anywhere leave nothing', async () => {
  using companion = new Companion(service, well);
  const size = whole.body.length;
  const cuts = [0, 1, 50, 150, 200, 5000, 70_000, size >> 2, size >> 1, size - 1000, size - 60, size - 5, size - 1];
  for (const chunked of [false, true]) {
    const head = postHead('/kos', {
      'Content-Type': type,
      ...(chunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': size }),
    });
    await Promise.all(
      cuts.map(async (cut) => {
        using client = await new RawClient(service.url).connected();
        const sent = whole.body.subarray(0, cut);
        client.write(head);
        client.write(chunked ? Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), sent]) : sent);
        await client.flushed();
        if (cut % 2 === 0) client.socket.destroy();
        else client.socket.end();
        await client.closed;
        assert.notEqual(client.status, 200, `cut at ${cut}`);
      }),
    );
  }
  await companion.assertUndisturbed();
});

test('uploads that are no proper form leave nothing', async () => {
  const text = whole.body.toString('latin1');
  const [top = '', rest = ''] = [text.slice(0, text.indexOf('\r\n\r\n')), text.slice(text.indexOf('\r\n\r\n'))];
  const forms: Readonly<
    Record<string, { readonly body: Buffer | string; readonly type?: string; readonly status?: number }>
  > = {
    'no boundary': { body: whole.body, type: 'multipart/form-data' },
    'another boundary': { body: whole.body, type: 'multipart/form-data; boundary=other' },
    'only the end': { body: '--acceptance-boundary--\r\n' },
    nothing: { body: '' },
    'another field': { body: upload(zip, 'file').body },
    'two files': {
      body: Buffer.concat([
        whole.body.subarray(0, -'--\r\n'.length),
        Buffer.from('\r\n'),
        upload(zip).body.subarray('--acceptance-boundary\r\n'.length),
      ]),
    },
    'a text in place of the file': {
      body: `--acceptance-boundary\r\nContent-Disposition: form-data; name="ko"\r\n\r\ntext\r\n--acceptance-boundary--\r\n`,
    },
    'headers of the part that break off': { body: `${top.slice(0, -10)}` },
    'a part without headers': { body: `--acceptance-boundary${rest}` },
    'too large': { body: upload(randomBytes(4_000_000)).body, status: 413 },
    'half of the zip': { body: upload(zip.subarray(0, zip.length >> 1)).body },
    'a package with a path out of it': {
      body: upload(await zipOf({ '../out.txt': 'x' }).catch(() => Buffer.from('PK'))).body,
    },
    'not multipart': { body: zip, type: 'application/zip', status: 415 },
  };
  for (const [name, form] of Object.entries(forms)) {
    const answer = await service
      .send('POST', '/kos', { body: form.body, headers: { 'content-type': form.type ?? type } })
      // The service may close before it has read all.
      .catch((thrown: unknown) =>
        (thrown as NodeJS.ErrnoException).code === 'EPIPE' || (thrown as NodeJS.ErrnoException).code === 'ECONNRESET'
          ? undefined
          : Promise.reject(thrown as Error),
      );
    if (answer === undefined) continue;
    assert.equal(answer.status, form.status ?? 400, `${name}: ${answer.text}`);
    assert.deepEqual(Object.keys(answer.object), ['Status', 'Request', 'Error', 'Time'], name);
  }
});

test('afterwards the shelf is as it was', async () => {
  await assertBackTo(before, service.pid);
  assert.deepEqual(
    (await onDisk()).filter((path) => !files.includes(path)),
    [],
  );
  assert.deepEqual((await service.get('/kos')).list.length, 2);
  const answer = await service.get(`/kos/${present.id}/noise.bin`);
  assert.deepEqual(answer.bytes, present.files['noise.bin']);
});
