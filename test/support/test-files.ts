import { globSync } from 'node:fs';
import { join } from 'node:path';

/** Rings of their own: `npm run test:<name>`. */
export const SLOW_RINGS = ['fleet', 'hostile', 'image', 'load', 'metrics', 'shutdown', 'walls'] as const;

/**
 * Of those rings, the files that take a few seconds, or a short round (`inRound`), in every run. Of hostile code that is
 * `test/acceptance/hostile-code.test.ts`.
 */
export const SHORT_ROUNDS = [
  'test/fleet/behind-haproxy.test.ts',
  'test/fleet/nodes-are-killed.test.ts',
  'test/fleet/nodes-are-one.test.ts',
  'test/image/image-is-complete.test.ts',
  'test/load/clock-jumps.test.ts',
  'test/load/log-reader-stalls.test.ts',
  'test/load/same-knowledge-objects.test.ts',
  'test/load/slow-connections.test.ts',
  'test/load/soak.test.ts',
  'test/load/waiting-calls.test.ts',
  'test/metrics/alerts-fire.test.ts',
  'test/metrics/many-of-everything.test.ts',
  'test/metrics/what-happens-is-counted.test.ts',
  'test/shutdown/at-a-terminal.test.ts',
  'test/shutdown/by-npm.test.ts',
  'test/shutdown/sandboxes-killed.test.ts',
  'test/shutdown/steps-that-fail.test.ts',
  'test/shutdown/what-was-begun.test.ts',
  'test/walls/javascript.test.ts',
];

/** The files beside it, and those of the console, run in one process, by this one. */
const TOGETHER = 'test/pages/in-one-browser.test.ts';
export const isOfPages = (path: string): boolean => /^test\/(?:pages|console)\//.test(path) && path !== TOGETHER;

/** Where the files are that take longest: they begin first, so that none is left over at the end. */
const LONGEST = [TOGETHER, 'test/acceptance/', 'test/documents/', 'test/', 'runtimes/', 'bench/', ''];

/** All files of tests but the long ones of the slow rings, those first that take longest. */
export function testFiles(project: string): string[] {
  const found = globSync(['{bench,cli,runtimes,src,test}/**/*.test.ts'], {
    cwd: project,
    exclude: (name) => name === 'node_modules',
  });
  const isSlow = (path: string): boolean =>
    !SHORT_ROUNDS.includes(path) && SLOW_RINGS.some((ring) => path.startsWith(`test/${ring}/`));
  const rank = (path: string): number => LONGEST.findIndex((start) => path.startsWith(start));
  return found
    .filter((path) => !isSlow(path) && !isOfPages(path))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((path) => join(project, path));
}
