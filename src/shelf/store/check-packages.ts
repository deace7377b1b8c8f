/** Reads every file of the packages of a shelf, and says what is damaged. */
import { mapBounded } from '../../lib/fair-queue.ts';
import { reasonOf } from '../disk-errors.ts';
import type { HashedFile } from '../package/package-content.ts';
import type { Database } from './database.ts';
import type { Objects } from './objects.ts';
import { parseFiles } from './package-listing.ts';

export interface CheckedPackages {
  /** KOs and retained packages that are whole. */
  readonly whole: number;
  readonly damaged: readonly { readonly where: string; readonly cause: string }[];
}

const AT_ONCE = 8;

/** An activator may go on meanwhile. Folders of people are as people leave them. */
export async function checkPackages({ query, dialect }: Database, objects: Objects): Promise<CheckedPackages> {
  const { schema } = dialect;
  const { rows } = await query<{ id: string; retained: string | null; files: string }>(
    `SELECT ko.id, NULL AS retained, package.files FROM ${schema}ko JOIN ${schema}package ON package.digest = ko.digest
        WHERE ko.folder IS NULL
      UNION ALL SELECT retained.id, retained.digest, package.files
        FROM ${schema}retained JOIN ${schema}package ON package.digest = retained.digest`,
  );
  const damaged: { where: string; cause: string }[] = [];
  await mapBounded(rows, AT_ONCE, async ({ id, retained, files }) => {
    for (const file of parseFiles(files)) {
      const cause = await faultOf(objects, file);
      if (cause === undefined) continue;
      damaged.push({ where: retained === null ? id : `${id}, retained sha256:${retained}`, cause });
      return;
    }
  });
  damaged.sort((a, b) => (a.where < b.where ? -1 : 1));
  return { whole: rows.length - damaged.length, damaged };
}

export async function faultOf(objects: Objects, file: HashedFile): Promise<string | undefined> {
  const fault = await objects.faultOf(file).catch((thrown: unknown) => `cannot be read (${reasonOf(thrown)})`);
  return fault === undefined ? undefined : `its file ${file.path} ${fault}; import it again`;
}
