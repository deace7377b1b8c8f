import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutHostPaths } from '../engines/node/npm.ts';

test('absolute paths are left out of what a program said, addresses stay', () => {
  for (const [said, shown] of [
    [
      "Error: ENOTEMPTY: directory not empty, rename '/a/b' -> '/a/c'",
      "Error: ENOTEMPTY: directory not empty, rename '…' -> '…'",
    ],
    ['no access (/root/.cache/kgrid, 0)', 'no access (…, 0)'],
    ['at file:///srv/app/main.ts:3:4', 'at …'],
    ['python3: /usr/lib/x.so: cannot open', 'python3: … cannot open'],
    ['KEY=/etc/x', 'KEY=…'],
    ['/only', '…'],
    ['see https://nodejs.org/api and a/relative/path, 1 / 2', 'see https://nodejs.org/api and a/relative/path, 1 / 2'],
  ] as const)
    assert.equal(withoutHostPaths(said), shown);
});

/** Of processor time; hundreds of times what it takes, and a small part of what it takes where it is not linear. */
const MOST_MICROSECONDS = 5_000_000;

test('it takes no longer than the text is long', () => {
  for (const text of ['/'.repeat(1_000_000), ' /'.repeat(500_000), 'file://'.repeat(150_000)]) {
    const began = process.cpuUsage();
    withoutHostPaths(text);
    assert.ok(process.cpuUsage(began).user < MOST_MICROSECONDS);
  }
});
