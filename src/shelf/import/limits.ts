import type { ArchiveLimits } from '../archive/archive.ts';

/** How large a package may be; all in bytes but `entries`, a count. */
export interface PackageLimits extends ArchiveLimits {
  /** The archive itself. */
  readonly zipped: number;
  readonly metadata: number;
  readonly descriptor: number;
}

const MB = 2 ** 20;

export const DEFAULT_PACKAGE_LIMITS: PackageLimits = {
  zipped: 100 * MB,
  unpacked: 300 * MB,
  file: 100 * MB,
  entries: 5_000,
  metadata: MB,
  descriptor: 5 * MB,
};
