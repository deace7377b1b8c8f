import type { PackageLimits } from '../shelf/import/limits.ts';
import type { Config } from './config.ts';

/** What a package may have, of all that is limited. */
export const packageLimitsOf = (limits: Config['limits']): PackageLimits => ({
  zipped: limits.package,
  unpacked: limits.unpacked,
  file: limits.file,
  entries: limits.entries,
  metadata: limits.metadata,
  descriptor: limits.descriptor,
});
