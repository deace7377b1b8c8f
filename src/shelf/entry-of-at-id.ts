/** What a shelf has under an `@id`. */
import { koKey } from '../knowledge-object/id.ts';
import { parseMetadata } from '../knowledge-object/metadata.ts';
import type { Shelf, ShelfEntry } from './shelf.ts';

/** Of several versions with one `@id` the given one, or the newest. */
export async function entryOfAtId(
  shelf: Pick<Shelf, 'withAtId'>,
  atId: string,
  version?: string,
): Promise<ShelfEntry | undefined> {
  const entries = (await shelf.withAtId(atId)).filter(isAtHome);
  return version === undefined ? entries.at(-1) : entries.find(({ id }) => id.version === version);
}

/** A PUT may give a KO an `@id` of another place: it stays, does not run, and what it was may come back. */
export function isAtHome({ id, metadata }: Pick<ShelfEntry, 'id' | 'metadata'>): boolean {
  try {
    return koKey(parseMetadata(metadata, id.naan).id) === koKey(id);
  } catch {
    return false;
  }
}
