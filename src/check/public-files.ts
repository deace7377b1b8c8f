/** Files that nobody means to publish, though all files of a package can be read over HTTP. */
import { warning } from './findings.ts';
import type { Finding } from './findings.ts';
import type { KoSource } from './ko-source.ts';

/** A path up to its first part that is hidden or holds packages. */
const PRIVATE = /^(?:.*?\/)?(?:\.[^/]+|node_modules)(?:\/|$)/;
/** What a shelf leaves out of a folder, as `pack` does. */
const OFF_THE_SHELF = /(^|\/)(\.git\/|\.DS_Store$)/;
const MOST_NAMED = 3;

export function publicFileWarnings({ isArchive, files, leftOut }: KoSource): Finding[] {
  const paths = isArchive ? [...files.keys()] : leftOut.map(({ path }) => path);
  const found = new Set(paths.map((path) => PRIVATE.exec(path)?.[0]).filter((each) => each !== undefined));
  const named = [...found].filter((path) => isArchive || !OFF_THE_SHELF.test(path));
  if (named.length === 0) return [];
  const some = [...named.slice(0, MOST_NAMED), ...(named.length > MOST_NAMED ? ['…'] : [])].join(', ');
  return [
    warning(
      '',
      undefined,
      isArchive
        ? `${some} can be read by anybody, like all files of a package: leave them out, as kgrid pack does`
        : `${some} can be read by anybody where this folder lies on a shelf: take them out; kgrid pack leaves them out`,
    ),
  ];
}
