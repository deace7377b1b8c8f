/** What is said of a package that is to come back, and cannot. */
import { koKey, type KoId } from '../knowledge-object/id.ts';
import { packageDamaged, packageNotKept, type ServiceError } from '../lib/errors.ts';
import type { RemovedPackage } from './shelf.ts';

/** As many as fit into a sentence. */
const MOST_NAMED = 10;

/** The error that says what is kept, where it is not that. */
export function notKept(id: KoId, kept: readonly RemovedPackage[], digest: string | undefined): ServiceError {
  const key = koKey(id);
  if (kept.length === 0)
    return packageNotKept(
      `Nothing is kept of ${key}: no package of it was deleted or replaced, or none so lately that it still is.`,
    );
  const named = kept
    .slice(0, MOST_NAMED)
    .map((each) => `sha256:${each.digest} (${each.why} ${each.removed.toISOString()})`);
  const more = kept.length > MOST_NAMED ? ` and ${String(kept.length - MOST_NAMED)} older ones` : '';
  return packageNotKept(
    `No package of ${key} is kept with the digest sha256:${digest ?? ''}; kept are: ${named.join(', ')}${more}.`,
  );
}

export const keptIsDamaged = ({ id, digest }: RemovedPackage, how: string): ServiceError =>
  packageDamaged(
    `The package of ${koKey(id)} with the digest sha256:${digest}, which is kept, is damaged: ${how}; nothing was changed.`,
  );
