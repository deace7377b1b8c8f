/** How metadata is answered: with what lets clients keep it, and ask whether it has changed. */
import { withoutMark } from '../../lib/byte-order-mark.ts';
import type { ShelfEntry } from '../../shelf/shelf.ts';

/** Metadata as it was imported or put; a byte order mark is no JSON. */
export const metadataText = ({ metadata }: ShelfEntry): string => withoutMark(metadata);

export const METADATA_HEADERS = {
  'content-type': 'application/json',
  vary: 'Accept',
  'cache-control': 'no-cache',
} as const;
