import type { KoId } from './id.ts';
import type { Fields } from '../lib/fields.ts';
import type { LinkedObject } from './linked-data.ts';
import type { KoMetadata } from './metadata.ts';

/** What a reading of metadata finds out; what was reported may be missing. */
export type MetadataParts = Omit<KoMetadata, 'id' | 'atId' | 'text'> & {
  readonly id: KoId | undefined;
  readonly atId: string | undefined;
};

/** The outermost object, whose text is `text`. */
export interface MetadataSource {
  readonly fields: Fields;
  /** The same, by its terms. */
  readonly root: LinkedObject;
  readonly text: string;
  readonly report: Report;
}

/** Tells what is wrong with a field of the outermost object. */
export type Report = (field: string, message: string) => void;
