import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shelfConformance } from '../../../test/conformance/shelf.ts';
import { openFileShelf } from './open-file-shelf.ts';

shelfConformance('file store', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kgrid-shelf-'));
  return {
    open: () => openFileShelf(dir),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true }),
  };
});
