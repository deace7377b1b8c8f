import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { importRefused } from '../../lib/errors.ts';
import type { ServiceError } from '../../lib/errors.ts';

/** The archive as a whole cannot be taken: `why` completes "The zip file …". */
export const archiveRefused = (why: string, cause?: unknown): ServiceError =>
  importRefused(`The zip file ${why}`, { cause });

/** One entry cannot be taken: `why` completes "The zip entry "<name>" …". */
export const entryRefused = (name: string, why: string, cause?: unknown): ServiceError =>
  importRefused(`The zip entry "${escapeForMessage(name)}" ${why}`, { cause });

/** Bytes for people: megabytes, rounded up to a tenth, from 1 MB on. */
export const bytes = (count: number): string =>
  count < 2 ** 20 ? `${count} bytes` : `${Math.ceil((10 * count) / 2 ** 20) / 10} MB`;
