/** A shelf in a database with the knowledge objects of a folder. */
import { join } from 'node:path';
import { copyShelf } from '../../src/shelf/copy-shelf.ts';
import { openShelf } from '../../src/shelf/open-shelf.ts';
import { openPostgresShelf } from '../../src/shelf/store/postgres/open-postgres-shelf.ts';

/** @param folder for what it needs on a disk. @throws where one cannot be copied. */
export async function copyToDatabase(files: string, url: string, folder: string): Promise<void> {
  await using from = await openShelf(files);
  await using to = await openPostgresShelf(url, { folder: join(folder, 'copy') });
  const { failed } = await copyShelf(from, to, { overwrite: false, onCopied: () => undefined });
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
}
