/** What says which content an answer comes from. */
import type { ShelfEntry } from '../shelf/shelf.ts';

export const PACKAGE_DIGEST_HEADER = 'kgrid-package-digest';

/** `sha256:<hex>`. */
export const packageDigestOf = ({ digest }: ShelfEntry): string => `sha256:${digest}`;
