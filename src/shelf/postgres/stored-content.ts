import type { KoId } from '../../knowledge-object/id.ts';
import { METADATA_FILE, otherAtId } from '../../knowledge-object/metadata.ts';
import { describePackage, type HashedFile, type PackageContent } from '../package/package-content.ts';
import { keptIsDamaged } from '../not-kept.ts';
import type { RemovedPackage } from '../shelf.ts';
import type { Query } from './database.ts';
import { damagedFile, metadataOf, storedFiles } from './store-files.ts';

/** @param stored files of the package; its `metadata.json` may be among them, and does not count. */
export const contentOf = (id: KoId, metadata: string, stored: readonly HashedFile[]): PackageContent =>
  describePackage(
    id,
    metadata,
    stored.filter(({ path }) => path !== METADATA_FILE),
    otherAtId(id, metadata),
  );

/** A package that is kept. @throws packageDamaged unless it is whole. */
export async function storedContent(query: Query, schema: string, chosen: RemovedPackage): Promise<PackageContent> {
  const stored = await storedFiles(query, schema, chosen.digest);
  const content = contentOf(chosen.id, await metadataOf(query, schema, stored), stored);
  const damaged = await damagedFile(query, schema, chosen.digest);
  if (damaged !== undefined) throw keptIsDamaged(chosen, `its file ${damaged} is not what was stored`);
  if (content.entry.digest !== chosen.digest) throw keptIsDamaged(chosen, 'the list of its files is that of another');
  return content;
}
