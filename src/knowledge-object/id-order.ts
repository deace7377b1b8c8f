/** The order in which knowledge objects are listed. */
import type { KoId, KoName } from './id.ts';
import { compareVersions } from './version-order.ts';

/** By naan, name and natural version. */
export const compareIds = (a: KoId, b: KoId): number => compareNames(a, b) || compareVersions(a.version, b.version);

export const compareNames = (a: KoName, b: KoName): number =>
  compareText(a.naan, b.naan) || compareText(a.name, b.name);

/** By code units, which is the same on every machine. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
