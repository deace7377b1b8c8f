/** Whether there are walls. */
import { findKernel } from '../../../src/confinement/find-kernel.ts';
import { NO_WALLS } from '../../../src/confinement/walls.ts';
import type { Kernel } from '../../../src/confinement/walls.ts';

export type Mode = 'walls' | 'off';

export const kernelOf = async (mode: Mode): Promise<Kernel> => (mode === 'off' ? NO_WALLS : await findKernel('auto'));
