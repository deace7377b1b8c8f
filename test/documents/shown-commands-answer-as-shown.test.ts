import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT, startService } from '../acceptance/support/service.ts';
import { inRound } from '../support/round.ts';
import { runDocument } from './support/commands.ts';

interface Shown {
  readonly document: string;
  /** What is on the shelf at first: the examples, as for `npm start` without a shelf, or nothing. */
  readonly shelf: 'examples' | 'empty';
  readonly args?: readonly string[];
  /** Blocks of commands that must have been run. */
  readonly atLeast: number;
}

const ALL: readonly Shown[] = [
  { document: 'README.md', shelf: 'examples', atLeast: 4 },
  { document: 'docs/interface.md', shelf: 'examples', atLeast: 6 },
  { document: 'docs/assistants.md', shelf: 'examples', atLeast: 1 },
  { document: 'docs/signatures.md', shelf: 'examples', atLeast: 1 },
  { document: 'docs/cds-hooks.md', shelf: 'examples', atLeast: 2 },
  { document: 'docs/fhir.md', shelf: 'examples', atLeast: 2 },
  { document: 'docs/volume.md', shelf: 'examples', atLeast: 1 },
  {
    document: 'docs/authoring.md',
    shelf: 'empty',
    args: ['--runtimes', 'node,python'],
    atLeast: 6,
  },
];

const DOCUMENTS = ALL.filter(({ document }) =>
  inRound(document !== 'docs/volume.md' && document !== 'docs/authoring.md', true),
);

for (const { document, shelf: content, atLeast, ...start } of DOCUMENTS) {
  test(`the commands of ${document} answer as it shows`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kgrid-documents-'));
    try {
      const shelf = join(folder, 'my-shelf');
      await mkdir(shelf);
      if (content === 'examples') await cp(join(PROJECT, 'examples'), shelf, { recursive: true });
      await using service = await startService({ shelf, ...start });
      const ran = await runDocument(document, { url: service.url, folder, shelf });
      assert.ok(ran >= atLeast, `${ran} blocks of commands were run`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}
