import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from './support/client.ts';
import { javascriptKo, uniqueNaan, zipOf } from './support/ko.ts';
import { theService } from './support/the-service.ts';
import { unzip } from './support/unzip.ts';

const service = await theService();

test('imports of one id at the same time leave one whole package', async () => {
  const naan = uniqueNaan();
  const versions = Array.from({ length: 8 }, (_, i) =>
    javascriptKo(`function run() { return ${i}; } // ${'x'.repeat(i * 1000)}`, {
      naan,
      metadata: { title: `Number ${i}` },
      files: { 'number.txt': String(i) },
    }),
  );
  await Promise.all(versions.map((ko) => service.add(ko)));
  const id = `${naan}/ko/v1.0`;
  const number = (await service.get(`/kos/${id}/number.txt`)).text;
  assert.equal((await service.get(`/kos/${id}`)).object['title'], `Number ${number}`);
  assert.equal((await service.get(`/kos/${id}/src/index.js`)).text, versions[Number(number)]?.files['src/index.js']);
});

test('imports, reads, calls, deletions and reloads at the same time harm each other never', async () => {
  const naan = uniqueNaan();
  const id = `${naan}/ko/v1.0`;
  const numbered = (i: number) =>
    javascriptKo(`function run() { return ${i}; }`, {
      naan,
      metadata: { title: String(i) },
      files: { 'a.txt': String(i) },
    });
  const zips = await Promise.all([0, 1, 2, 3].map((i) => zipOf(numbered(i).files)));
  await service.serve(numbered(0));
  const expectStatus = (answer: Answer, ...allowed: number[]): Answer => {
    assert.ok(allowed.includes(answer.status), `${answer.status}: ${answer.text}`);
    return answer;
  };
  const exported = async (): Promise<void> => {
    const answer = expectStatus(await service.get(`/kos/${id}?format=zip`), 200, 404);
    if (answer.status === 404) return;
    const files = new Map(
      (await unzip(answer.bytes)).map((entry) => [entry.path.split('/').slice(1).join('/'), entry.bytes.toString()]),
    );
    const { title } = JSON.parse(files.get('metadata.json') ?? '') as { title: string };
    assert.equal(files.get('a.txt'), title, 'an export is one version');
  };
  const called = async (): Promise<void> => {
    const answer = expectStatus(await service.post(`/${naan}/ko/1.0/run`, {}), 200, 404);
    if (answer.status !== 200) return;
    const { result, info } = answer.object as { result: number; info: { ko: { title: string } } };
    assert.equal(String(result), info.ko.title, 'code and metadata are of one version');
  };
  const rounds = Array.from({ length: 12 }, async (_, i) => {
    for (let n = 0; n < 4; n++) {
      expectStatus(await service.importZip(zips[(i + n) % 4] ?? Buffer.alloc(0)), 200);
      await Promise.all([exported(), called()]);
      if (i % 3 === 0) expectStatus(await service.get(`/actuator/activation/reload/${id}`), 303, 404);
      if (i % 4 === 0) expectStatus(await service.delete(`/kos/${id}`), 204, 404);
      await Promise.all([exported(), called()]);
    }
  });
  await Promise.all(rounds);
  await service.serve(numbered(3));
  assert.equal((await service.post(`/${naan}/ko/1.0/run`, {})).object['result'], 3);
});
