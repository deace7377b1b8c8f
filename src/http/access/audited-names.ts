/** What an audit record says of an `@id` that is not the place of its knowledge object. */
import { otherAtId } from '../../knowledge-object/metadata.ts';
import { cutWords, someOf } from '../../lib/text.ts';
import type { ShelfEntry } from '../../shelf/shelf.ts';

/** KOs that an audit record names. */
export const MAX_NAMED = 100;

interface AtId {
  readonly atId?: string;
}

export function atIdOf({ id, metadata }: Pick<ShelfEntry, 'id' | 'metadata'>): AtId {
  const atId = otherAtId(id, metadata);
  return atId === undefined ? {} : { atId };
}

/** `<naan>/<name>/<version> <@id>, …`, of those that have two names. */
export function atIdsOf(all: readonly { readonly ko: string; readonly atId?: string | undefined }[]): AtId {
  const named = all.flatMap(({ ko, atId }) => (atId === undefined ? [] : [`${ko} ${atId}`]));
  return named.length === 0 ? {} : { atId: cutWords(someOf(named, MAX_NAMED)) };
}
