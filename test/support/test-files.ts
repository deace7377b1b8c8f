import { globSync } from 'node:fs';
import { join } from 'node:path';

/** Folders whose files are long, but for those of `SHORT_ROUNDS`. */
const LONG_FOLDERS = ['fleet', 'hostile', 'image', 'load', 'metrics', 'release', 'shutdown', 'walls'] as const;

/** Of those folders, the files that take a few seconds, or a short round (`inRound`), in every run. */
const SHORT_ROUNDS = [
  'test/fleet/nodes-are-killed.test.ts',
  'test/fleet/nodes-are-one.test.ts',
  'test/image/image-is-complete.test.ts',
  'test/load/clock-jumps.test.ts',
  'test/load/slow-connections.test.ts',
  'test/load/soak.test.ts',
  'test/metrics/alerts-fire.test.ts',
  'test/metrics/many-of-everything.test.ts',
  'test/metrics/what-happens-is-counted.test.ts',
  'test/shutdown/at-a-terminal.test.ts',
  'test/shutdown/by-npm.test.ts',
  'test/shutdown/steps-that-fail.test.ts',
  'test/shutdown/what-was-begun.test.ts',
  'test/walls/javascript.test.ts',
];

/** Files of the ring `runtimes` that take long and lie beside short ones, which say most of the same. */
const LONG_FILES = [
  'src/engines/node/packages-come-from-allowed-hosts.test.ts',
  'src/engines/node/scripts-harm-only-their-own-installation.test.ts',
];

/** The files beside it, and those of the console, run in one process, by this one. */
export const TOGETHER = 'test/pages/in-one-browser.test.ts';
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
    !SHORT_ROUNDS.includes(path) && LONG_FOLDERS.some((ring) => path.startsWith(`test/${ring}/`));
  const rank = (path: string): number => LONGEST.findIndex((start) => path.startsWith(start));
  return found
    .filter((path) => !isSlow(path) && !LONG_FILES.includes(path) && !isOfPages(path))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((path) => join(project, path));
}
