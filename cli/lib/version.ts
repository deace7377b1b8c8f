import { readBuild } from '../../src/build.ts';
import type { Build } from '../../src/build.ts';

/** Of this very project. */
export const buildOfProject = (): Build => readBuild(process.env['KGRID_BUILD_COMMIT']);
