/** A shelf in a temporary folder that archives are thrown at. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { koKey } from '../../src/knowledge-object/id.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { openShelf } from '../../src/shelf/stores.ts';
import { shelfLayout } from '../../src/shelf/store/shelf-layout.ts';
import { importZip, type ImportTarget } from '../../src/shelf/import/import-zip.ts';
import { DEFAULT_PACKAGE_LIMITS, type PackageLimits } from '../../src/shelf/archive/archive.ts';
import type { Shelf, ShelfEntry } from '../../src/shelf/shelf.ts';
import { koFiles, zipOf, type Files } from './ko.ts';

// Of the processor, so that other work on the machine does not count.
const MAX_CPU_MS = 2_000;
const MAX_MS = 20_000;
const MAX_GROWTH = 100 * 2 ** 20;

export class Bench implements AsyncDisposable {
  readonly dir: string;
  readonly shelf: Shelf;
  readonly spool: string;

  private constructor(dir: string, shelf: Shelf, spool: string) {
    this.dir = dir;
    this.shelf = shelf;
    this.spool = spool;
  }

  /** A shelf with one KO, `there/before/v1`. */
  static async open(): Promise<Bench> {
    const dir = await mkdtemp(join(tmpdir(), 'kgrid-archives-'));
    const spool = await mkdtemp(join(tmpdir(), 'kgrid-archives-spool-'));
    const bench = new Bench(dir, await openShelf(dir), spool);
    await bench.import(zipOf(koFiles({ id: 'there/before/v1' })));
    return bench;
  }

  /** In chunks, as an upload comes. */
  async import(zip: Buffer, limits: PackageLimits = DEFAULT_PACKAGE_LIMITS): Promise<ShelfEntry> {
    const chunks = Array.from({ length: Math.ceil(zip.length / 65_536) }, (_, i) =>
      zip.subarray(i * 65_536, (i + 1) * 65_536),
    );
    return (await importZip(Readable.from(chunks, { objectMode: false }), this.target(limits))).entry;
  }

  target(limits: PackageLimits = DEFAULT_PACKAGE_LIMITS): ImportTarget {
    return { shelf: this.shelf, spool: this.spool, limits };
  }

  /** Asserts that the archive is refused for this reason, in time, in bounded memory, and leaves nothing behind. */
  async refuses(zip: Buffer, reason: RegExp, status = 400): Promise<void> {
    const before = await this.state();
    const usage = new Usage();
    await assert.rejects(this.import(zip), (thrown) => {
      assert.ok(thrown instanceof ServiceError, String(thrown));
      assert.equal(thrown.status, status);
      assert.match(thrown.message, reason);
      assertFitToPrint(thrown.message);
      return true;
    });
    usage.assertBounded();
    assert.deepEqual(await this.state(), before, 'the shelf is as it was');
    assert.deepEqual(await this.staged(), [], 'nothing is staged');
  }

  /** Asserts that the archive is accepted and that the package is exactly these files. */
  async accepts(zip: Buffer, files: Files | ReadonlyMap<string, string | Buffer>): Promise<void> {
    const usage = new Usage();
    const { id } = await this.import(zip);
    usage.assertBounded();
    assert.deepEqual(await this.staged(), [], 'nothing is staged');
    assert.deepEqual(await this.contents(koKey(id)), asBuffers(files));
    await this.shelf.remove(id);
  }

  async contents(key: string): Promise<Map<string, Buffer>> {
    const entry = (await this.shelf.list()).find(({ id }) => koKey(id) === key);
    assert.ok(entry !== undefined, `${key} is on the shelf`);
    const ko = await this.shelf.open(entry.id);
    assert.ok(ko !== undefined);
    const found = new Map<string, Buffer>();
    for (const path of ko.files.keys()) found.set(path, await ko.read(path));
    ko.release();
    return found;
  }

  async state(): Promise<string[]> {
    return (await this.shelf.list()).map(({ id, etag }) => `${koKey(id)} ${etag}`);
  }

  /** What lies where packages are on their way in. */
  async staged(): Promise<string[]> {
    return [...(await readdir(shelfLayout(this.dir).staging)), ...(await readdir(this.spool))];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shelf[Symbol.asyncDispose]();
    await rm(this.dir, { recursive: true });
    await rm(this.spool, { recursive: true });
  }
}

/** No path of the host, no control characters, and short enough to read. */
export function assertFitToPrint(message: string): void {
  assert.doesNotMatch(message, /[\p{Cc}\p{Cf}]|kgrid-archives|\/tmp\/kgrid/u);
  assert.ok(message.length < 1_000, `${message.length} characters`);
}

function asBuffers(files: Files | ReadonlyMap<string, string | Buffer>): Map<string, Buffer> {
  const entries = isMap(files) ? [...files] : Object.entries(files);
  return new Map(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, data]): [string, Buffer] => [path, Buffer.from(data)]),
  );
}

const isMap = (files: Files | ReadonlyMap<string, string | Buffer>): files is ReadonlyMap<string, string | Buffer> =>
  files instanceof Map;

/** Time and memory since it was made. */
export class Usage {
  readonly #start = performance.now();
  readonly #cpu = process.cpuUsage();
  readonly #rss = process.memoryUsage.rss();
  #peak = 0;
  readonly #sampling = setInterval(() => {
    this.#peak = Math.max(this.#peak, process.memoryUsage.rss());
  }, 5).unref();

  assertBounded(): void {
    clearInterval(this.#sampling);
    const { user, system } = process.cpuUsage(this.#cpu);
    assert.ok((user + system) / 1_000 < MAX_CPU_MS, `${Math.round((user + system) / 1_000)} ms of the processor`);
    const took = performance.now() - this.#start;
    assert.ok(took < MAX_MS, `${Math.round(took)} ms`);
    const growth = Math.max(this.#peak, process.memoryUsage.rss()) - this.#rss;
    assert.ok(growth < MAX_GROWTH, `${Math.round(growth / 2 ** 20)} MB more`);
  }
}
