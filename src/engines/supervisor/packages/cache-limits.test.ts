import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { tmpdir } from 'node:os';
import { CacheLimiter, type CacheLimits } from './cache-limits.ts';
import { Cache } from './cache.ts';

const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'kgrid-cache-test-'));
const now = Date.now();
const hour = 60 * 60_000;
const day = 24 * hour;
const roomy: CacheLimits = { bytes: 1_000_000, ageMs: 30 * day };

interface Item {
  readonly path: string;
  readonly usedAt: number;
  readonly bytes?: number;
}

describe('the size of the cache folder', () => {
  it('forgets which object an endpoint had when that is gone', async () => {
    const folder = await temporaryFolder();
    try {
      const cache = await Cache.open(folder);
      const [gone, there] = ['0'.repeat(40), '1'.repeat(40)];
      await mkdir(cache.object(there));
      await cache.remember('a/b/c/gone', gone);
      await cache.remember('a/b/c/there', there);
      await new CacheLimiter(cache, roomy, () => []).shrink(now + 2 * hour);
      assert.deepEqual(
        [await cache.remembered('a/b/c/gone'), await cache.remembered('a/b/c/there')],
        [undefined, there],
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  const cases: [name: string, items: Item[], inUse: string[], limits: CacheLimits, left: string[]][] = [
    [
      'keeps what fits',
      [
        { path: 'objects/a', usedAt: now - 29 * day },
        { path: 'installs/b', usedAt: now - 2 * hour },
      ],
      [],
      roomy,
      ['objects/a', 'installs/b'],
    ],
    [
      'removes what was not used for long',
      [
        { path: 'objects/a', usedAt: now - 31 * day },
        { path: 'objects/b', usedAt: now - 29 * day },
        { path: 'installs/c', usedAt: now - 31 * day },
        { path: 'program-0123', usedAt: now - 31 * day },
        { path: 'npm', usedAt: now - 31 * day },
      ],
      [],
      roomy,
      ['objects/b'],
    ],
    [
      'removes what was used least recently until the rest fits',
      [
        { path: 'objects/a', usedAt: now - 5 * hour, bytes: 400 },
        { path: 'installs/b', usedAt: now - 7 * hour, bytes: 400 },
        { path: 'installs/c', usedAt: now - 9 * hour, bytes: 400 },
        { path: 'objects/d', usedAt: now - 3 * hour, bytes: 400 },
      ],
      [],
      { ...roomy, bytes: 1000 },
      ['objects/a', 'objects/d'],
    ],
    [
      'keeps what is active, however large and old',
      [
        { path: 'objects/a', usedAt: now - 99 * day, bytes: 5000 },
        { path: 'installs/b', usedAt: now - 99 * day, bytes: 5000 },
        { path: 'installs/c', usedAt: now - 2 * day, bytes: 10 },
      ],
      ['objects/a', 'installs/b'],
      { ...roomy, bytes: 1000 },
      ['objects/a', 'installs/b'],
    ],
    [
      'keeps what was used within the last hour, which another runtime may be using',
      [
        { path: 'objects/a', usedAt: now - hour / 2, bytes: 5000 },
        { path: 'objects/b', usedAt: now - 2 * hour, bytes: 10 },
      ],
      [],
      { ...roomy, bytes: 1000 },
      ['objects/a'],
    ],
    [
      'removes what was left half done',
      [
        { path: 'staging/a', usedAt: now - 2 * day },
        { path: 'staging/b', usedAt: now - 2 * hour },
      ],
      [],
      roomy,
      ['staging/b'],
    ],
  ];

  for (const [name, items, inUse, limits, left] of cases) {
    it(name, async () => {
      const folder = await temporaryFolder();
      try {
        const cache = await Cache.open(folder);
        for (const { path, usedAt, bytes = 10 } of items) {
          await mkdir(join(folder, path, 'deep/er'), { recursive: true });
          await writeFile(join(folder, path, 'deep/er/file'), Buffer.alloc(bytes));
          await utimes(join(folder, path), usedAt / 1000, usedAt / 1000);
        }
        const limiter = new CacheLimiter(cache, limits, () => inUse.map((path) => join(folder, path)));
        await limiter.shrink(now);
        assert.deepEqual(await itemsIn(folder), [...left].sort());
        // What is active counts as used, for other runtimes too.
        const other = new CacheLimiter(cache, limits, () => []);
        await other.shrink(Date.now() + hour / 2);
        assert.deepEqual(
          (await itemsIn(folder)).filter((path) => inUse.includes(path)),
          [...inUse].sort(),
        );
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  }
});

async function itemsIn(folder: string): Promise<string[]> {
  const groups = ['objects', 'installs', 'staging'].map(async (group) =>
    (await readdir(join(folder, group))).map((name) => `${group}/${name}`),
  );
  const others = (await readdir(folder)).filter((name) => /^(program-|npm)/.test(name));
  return [...(await Promise.all(groups)).flat(), ...others].sort();
}
