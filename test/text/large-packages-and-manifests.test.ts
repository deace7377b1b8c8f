/** What comes with a package or a manifest costs the thread on which all calls are answered little, or is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { LoadedKo } from '../../src/activation/loaded-ko.ts';
import { BackgroundReader } from '../../src/knowledge-object/descriptors/background-reader.ts';
import { parseService } from '../../src/knowledge-object/descriptors/service.ts';
import { readMetadata } from '../../src/knowledge-object/metadata.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { checkPackage } from '../../src/shelf/import/check-package.ts';
import { DEFAULT_PACKAGE_LIMITS } from '../../src/shelf/archive/archive.ts';
import { createManifestImporter } from '../../src/shelf/manifest/create-manifest-importer.ts';
import type { Shelf } from '../../src/shelf/shelf.ts';
import { javascriptKo, type Ko } from '../acceptance/support/ko.ts';
import { MemoryPackage } from '../support/in-memory.ts';

/** Milliseconds of the processor that this thread takes. */
async function costOf(work: () => unknown): Promise<number> {
  const start = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
}

const ONES = `\nx-ones: [${'1,'.repeat(60_000)}1]\n`;
const plain = javascriptKo('', { naan: 'a' });
const large: Ko = {
  ...plain,
  files: { ...plain.files, 'service.yaml': String(plain.files['service.yaml']) + ONES },
};

const check = (ko: Ko, reader?: BackgroundReader): Promise<unknown> =>
  checkPackage(
    (path) => Promise.resolve(Buffer.from(ko.files[path] ?? '')),
    new Map(Object.entries(ko.files).map(([path, text]) => [path, { path, size: Buffer.byteLength(text) }])),
    DEFAULT_PACKAGE_LIMITS,
    { descriptors: reader },
  );

test('a large descriptor costs an import and a load little', async () => {
  await using reader = new BackgroundReader({ timeout: 600_000 });
  const here = await costOf(() => parseService(String(large.files['service.yaml']), 'service.yaml'));
  for (const work of [() => check(large, reader), () => LoadedKo.load(new MemoryPackage(large), { reader })]) {
    const cost = await costOf(work);
    assert.ok(cost < here / 4, `${cost} ms instead of ${here}`);
  }
});

const withMetadata = (metadata: string): Ko => ({ ...plain, files: { ...plain.files, 'metadata.json': metadata } });
const start = JSON.stringify(plain.metadata).slice(0, -1);

test('metadata of very many values is refused at import, before it is read', async () => {
  const keys = Array.from({ length: 60_000 }, (_, i) => `,"k${i}":1`).join('');
  await assert.rejects(
    check(withMetadata(`${start}${keys}}`)),
    /^ServiceError: metadata\.json holds more than 50000 values/,
  );
  const deep = '['.repeat(60_000) + ']'.repeat(60_000);
  await assert.rejects(
    check(withMetadata(`${start},"a":${deep}}`)),
    /^ServiceError: metadata\.json holds more than 50000 values/,
  );
});

test('metadata that is nested deeply is read, whatever it says', () => {
  const deep = '['.repeat(40_000) + ']'.repeat(40_000);
  assert.deepEqual(readMetadata(`{"@id":"a/b/v1","version":1.0,"a":${deep}}`).metadata?.version, '1.0');
  const [problem] = readMetadata(`{"@id":${deep}}`).problems;
  assert.match(problem?.message ?? '', /^@id in metadata\.json is nested too deeply; it must be/);
});

const importer = createManifestImporter({
  config: { profile: 'dev', fileManifests: [], privateManifests: true },
  target: { shelf: {} as Shelf, spool: '', limits: DEFAULT_PACKAGE_LIMITS },
  log: pino({ level: 'silent' }),
});

test('a manifest of too many entries is refused before one is read', async () => {
  const many = Array<unknown>(1_000_000).fill([]);
  let thrown: unknown;
  const cost = await costOf(async () => (thrown = await importer.importPosted(many).catch((each: unknown) => each)));
  assert.ok(thrown instanceof ServiceError);
  assert.equal(thrown.message, 'The manifest has 1000000 entries; it may have 10000');
  const few = await costOf(() => importer.importPosted(many.slice(0, 10_000)));
  assert.ok(cost < few, `${cost} ms, where reading 10,000 takes ${few}`);
});

test('while 10,000 entries are read others have their turns', async () => {
  let turns = 0;
  const count = (): void => void (++turns, (waiting = setImmediate(count)));
  let waiting = setImmediate(count);
  const outcomes = await importer.importPosted(Array<string>(10_000).fill('ftp://a/b.zip'));
  clearImmediate(waiting);
  assert.equal(outcomes.length, 10_000);
  assert.ok(turns >= 50, `${turns} turns`);
});
