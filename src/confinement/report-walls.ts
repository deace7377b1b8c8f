/** What is told of the walls: in the log once, in health and in info. */
import type { Logger } from '../lib/log.ts';
import type { Kernel, WallsMode } from './walls.ts';

export interface WallsReport {
  readonly status: 'UP' | 'DOWN';
  readonly details: Readonly<Record<string, unknown>>;
}

/** DOWN where one is missing; that leaves the service UP. */
export function reportWalls(mode: WallsMode, { landlock, seccomp, missing, weaker }: Kernel): WallsReport {
  return {
    status: mode === 'off' || missing.length > 0 ? 'DOWN' : 'UP',
    details: {
      mode,
      landlock,
      seccomp,
      ...(missing.length === 0 ? {} : { missing }),
      ...(weaker.length === 0 ? {} : { weaker }),
    },
  };
}

export function logWalls(mode: WallsMode, { missing, weaker }: Kernel, log: Logger): void {
  if (mode === 'off') log.warn('Code of knowledge objects runs without walls of the kernel (--walls off)');
  else if (missing.length > 0)
    log.warn(`Code of knowledge objects runs without all walls of the kernel: ${missing.join('; ')}`);
  else if (weaker.length > 0) log.info(`Walls of the kernel are older: ${weaker.join('; ')}`);
}
