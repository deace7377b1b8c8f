/** With --provenance an answer says how it came about, and `kgrid verify-answer` has it again. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { kgrid } from '../cli/kgrid.ts';
import { pathOf } from './support/knowledge-grid.ts';
import { javascriptKo, resourceKo, uniqueNaan, zipOf } from './support/ko.ts';
import type { Ko } from './support/ko.ts';
import { startService, temporaryFolder } from './support/service.ts';

const naan = uniqueNaan();
const folder = await temporaryFolder();
const service = await startService({ args: ['--provenance'] });
after(async () => {
  await service[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});
const inner = javascriptKo('function run(n) { return { twice: 2 * n, list: [n] }; }', { naan, name: 'inner' });
const middle = javascriptKo(`function run(n) { return context.getExecutor('${naan}/inner/1.0/run').execute(n); }`, {
  naan,
  name: 'middle',
});
const outer = javascriptKo(`function run(n) { return context.getExecutor('${naan}/middle/1.0/run').execute(n); }`, {
  naan,
  name: 'outer',
});
const files = resourceKo({ naan, name: 'files', resources: { 'a.txt': 'a' } });
await service.serve(inner, middle, outer, files);

interface Proven {
  readonly result: unknown;
  readonly info: { readonly inputs: string; readonly provenance: Record<string, unknown> };
}

const call = async (ko: Ko, body = '1', more: Record<string, string> = {}) => {
  const headers = { 'content-type': 'application/json', ...more };
  const { status, headers: answered, bytes } = await service.send('POST', pathOf(ko), { headers, body });
  assert.equal(status, 200);
  return { text: bytes.toString(), headers: answered, answer: JSON.parse(bytes.toString()) as Proven };
};
const kept = async (name: string, text: string): Promise<string> => {
  const file = join(folder.path, name);
  await writeFile(file, text);
  return file;
};
const zipFile = async (ko: Ko): Promise<string> => {
  const file = join(folder.path, `${ko.id.replaceAll('/', '-')}.zip`);
  await writeFile(file, await zipOf(ko.files));
  return file;
};

test('an answer names package, engine, activator, time, and what was called with its packages', async () => {
  const { answer, headers } = await call(outer, ' 1 ');
  assert.deepEqual(answer.result, { twice: 2, list: [1] });
  assert.equal(answer.info.inputs, ' 1 ');
  const { time, activator, engine, ...rest } = answer.info.provenance;
  assert.ok(Math.abs(Date.now() - Date.parse(String(time))) < 600_000);
  assert.match(JSON.stringify(engine), /^\{"name":"javascript","version":"V8 [\d.-]+/);
  assert.match(JSON.stringify(activator), /^\{"version":"[\d.]+"(,"node":"[\da-f-]{36}")?\}$/);
  const digests = await Promise.all(
    [middle, inner].map(async (ko) => (await service.get(`/kos/${ko.id}`)).headers['kgrid-package-digest']),
  );
  assert.deepEqual(rest, {
    executionId: headers['kgrid-execution-id'],
    endpoint: `${naan}/outer/1.0/run`,
    knowledgeObject: outer.id,
    digest: headers['kgrid-package-digest'],
    contentType: 'application/json',
    calls: [middle, inner].map(({ id }, i) => ({
      endpoint: `${id.replace(/v1.0$/, '1.0')}/run`,
      knowledgeObject: id,
      digest: digests[i],
    })),
  });
});

test('a list of files has it, the result alone has not, and without the option nothing has', async () => {
  const list = JSON.parse((await service.get(pathOf(files, 'files'))).bytes.toString()) as Proven;
  assert.equal(list.info.provenance['knowledgeObject'], files.id);
  const minimal = await call(inner, '1', { accept: 'application/json;profile="minimal"' });
  assert.deepEqual(minimal.answer, { twice: 2, list: [1] });
  await using plain = await startService();
  await plain.serve(inner);
  const body = { body: '1', headers: { 'content-type': 'application/json' } };
  const { info } = JSON.parse((await plain.send('POST', pathOf(inner), body)).bytes.toString()) as Proven;
  assert.deepEqual(Object.keys(info), ['ko', 'inputs']);
});

test('the same result from the same packages is 0, at the service and from packages', async () => {
  const file = await kept('same.json', (await call(outer)).text);
  const [ko, ...others] = await Promise.all([outer, middle, inner].map(zipFile));
  for (const where of [
    ['--url', service.url],
    ['--ko', String(ko), '--with', ...others],
  ]) {
    const { code, stdout, stderr } = await kgrid(['verify-answer', file, ...where]);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /The result is the same/);
  }
});

test('what differs is told by its place, and another package by its digests', async () => {
  const { text, answer } = await call(outer);
  const forged = { ...answer, result: { twice: 3, list: [1, 2], more: null } };
  const file = await kept('forged.json', JSON.stringify(forged));
  const { code, stdout } = await kgrid(['verify-answer', file, '--url', service.url]);
  assert.equal(code, 1);
  for (const line of [
    'result.twice: was 3, is 2',
    'result.list[1]: was 2, is nothing',
    'result.more: was null, is nothing',
  ])
    assert.ok(stdout.includes(line), stdout);
  const changed = javascriptKo('function run(n) { return { twice: n + n, list: [n] }; }', { naan, name: 'inner' });
  const honest = await kept('honest.json', text);
  const with_ = ['--with', await zipFile(middle), await zipFile(changed)];
  const other = await kgrid(['verify-answer', honest, '--json', '--ko', await zipFile(outer), ...with_]);
  assert.equal(other.code, 1);
  const said = JSON.parse(other.stdout) as Record<string, unknown>;
  assert.deepEqual([said['sameResult'], said['samePackages']], [true, false]);
  assert.deepEqual(
    (said['packages'] as { knowledgeObject: string }[]).map((each) => each.knowledgeObject),
    [inner.id],
  );
});

test('a shelf gives the package that answered, also once it was replaced there', async () => {
  await using shelf = await temporaryFolder();
  const first = javascriptKo('function run(n) { return n + 1; }', { naan, name: 'replaced' });
  const second = javascriptKo('function run(n) { return n + 2; }', { naan, name: 'replaced' });
  let text: string;
  {
    await using owner = await startService({ shelf: shelf.path, args: ['--provenance'] });
    await owner.serve(first);
    const sent = { body: '1', headers: { 'content-type': 'application/json' } };
    text = (await owner.send('POST', pathOf(first), sent)).bytes.toString();
    await owner.serve(second);
    const now = JSON.parse((await owner.send('POST', pathOf(first), sent)).bytes.toString()) as Proven;
    assert.equal(now.result, 3);
  }
  const { code, stdout, stderr } = await kgrid(['verify-answer', '-', '--shelf', shelf.path], { input: text });
  assert.equal(code, 0, stdout + stderr);
});

test('what cannot be had again says why: wrong files are 2, what is out of reach is 3', async () => {
  const good = await kept('good.json', (await call(inner)).text);
  const { info, ...rest } = (await call(inner)).answer;
  const bare = { ...info, provenance: undefined };
  const without = await kept('without.json', JSON.stringify({ ...rest, info: bare }));
  const cases: [string[], number, RegExp][] = [
    [[await kept('no.json', '{'), '--url', service.url], 2, /is not JSON/],
    [[await kept('list.json', '[]'), '--url', service.url], 2, /holds no result/],
    [[await kept('minimal.json', '{"result":1}'), '--url', service.url], 2, /does not tell its inputs/],
    [[join(folder.path, 'nowhere.json'), '--url', service.url], 3, /cannot be read/],
    [[good, '--url', 'http://127.0.0.1:9'], 3, /Cannot reach/],
    [[good, '--shelf', join(folder.path, 'nowhere')], 3, /There is no folder/],
    [[good, '--ko', 'a', '--shelf', 'b'], 2, /leave one out/],
    [[without, '--url', service.url], 2, /--endpoint/],
    [[without, '--url', service.url, '--endpoint', `${naan}/inner/1.0/run`], 0, /The result is the same/],
    [[without, '--ko', await zipFile(inner)], 0, /The result is the same/],
    [[good, '--url', service.url, '--endpoint', `${naan}/gone/1.0/run`], 1, /There is no result any more/],
  ];
  for (const [args, expected, words] of cases) {
    const { code, stdout, stderr } = await kgrid(['verify-answer', ...args]);
    assert.equal(code, expected, `${args.join(' ')}: ${stdout}${stderr}`);
    assert.match(stdout + stderr, words);
  }
});
