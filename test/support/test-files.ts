import { globSync } from 'node:fs';
import { join } from 'node:path';

/** Rings of their own: `npm run test:<name>`. */
export const SLOW_RINGS = ['hostile', 'load', 'shutdown'] as const;

/** Where the files are that take longest: they begin first, so that none is left over at the end. */
const LONGEST = ['test/acceptance/', 'test/documents/', 'test/pages/', 'test/', 'runtimes/', 'bench/', ''];

/** All files of tests but those of the slow rings, the longest first. */
export function testFiles(project: string): string[] {
  const found = globSync(['{bench,cli,runtimes,src,test}/**/*.test.ts'], {
    cwd: project,
    exclude: (name) => name === 'node_modules',
  });
  const isSlow = (path: string): boolean => SLOW_RINGS.some((ring) => path.startsWith(`test/${ring}/`));
  const rank = (path: string): number => LONGEST.findIndex((start) => path.startsWith(start));
  return found
    .filter((path) => !isSlow(path))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((path) => join(project, path));
}
