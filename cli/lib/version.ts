import { readBuild } from '../../src/build.ts';
import type { Build } from '../../src/build.ts';

/** Gives the build of this project. */
export const buildOfProject = (): Build => readBuild(process.env['KGRID_BUILD_COMMIT']);
