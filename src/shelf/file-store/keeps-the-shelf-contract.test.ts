import { shelfConformance } from '../../../test/conformance/shelf.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { openFileShelf } from './open-file-shelf.ts';

shelfConformance('file store', async () => {
  const folder = await temporaryFolder();
  return { open: () => openFileShelf(folder.path), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
});
