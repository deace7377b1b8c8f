import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT, startService } from '../acceptance/support/service.ts';
import { runDocument } from './support/commands.ts';

interface Shown {
  readonly document: string;
  readonly atLeast: number;
  /** As `--runtimes`. */
  readonly runtimes?: string;
}

const DOCUMENTS: readonly Shown[] = [{ document: 'docs/interface.md', atLeast: 25 }];

for (const { document, atLeast, ...start } of DOCUMENTS) {
  test(`the commands of ${document} answer as it shows`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kgrid-documents-'));
    try {
      // What `npm start` serves: a working copy of the examples.
      const shelf = join(folder, 'shelf');
      await mkdir(shelf);
      await cp(join(PROJECT, 'examples'), shelf, { recursive: true });
      await using service = await startService({ shelf, ...start });
      const ran = await runDocument(document, { url: service.url, folder, shelf });
      assert.ok(ran >= atLeast, `${ran} blocks of commands were run`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}
