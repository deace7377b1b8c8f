import type { ShelfEntry } from './shelf.ts';

/** Says which content an answer comes from: `sha256:<hex>`. */
export const packageDigestOf = ({ digest }: ShelfEntry): string => `sha256:${digest}`;
