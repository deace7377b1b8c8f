/** What keeps code in: the columns of the table in docs/security.md. */
import { findKernel } from '../../../src/engines/walls/find-kernel.ts';
import { NO_WALLS } from '../../../src/engines/walls/walls.ts';
import type { Kernel } from '../../../src/engines/walls/walls.ts';

export type Mode = 'walls' | 'no landlock' | 'off';

/** `no landlock`: of a container that refuses Landlock, or of an older kernel. */
export async function kernelOf(mode: Mode): Promise<Kernel> {
  if (mode === 'off') return NO_WALLS;
  const kernel = await findKernel('auto');
  return mode === 'walls' ? kernel : { ...kernel, landlock: 0 };
}
