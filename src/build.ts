/** Which program this is: its version, and the commit that it was made of. */
import { readFileSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Build {
  readonly version: string;
  /** Twelve digits; `unknown` where nothing tells it. */
  readonly commit: string;
}

const UNKNOWN = 'unknown';
const COMMIT_DIGITS = 12;
const PROJECT = fileURLToPath(new URL('..', import.meta.url));

/** Whether npm installed this program as a package; else it runs in its project. */
export const isInstalled = PROJECT.includes(`${sep}node_modules${sep}`);

/** `commit`: as who built an image says it (`KGRID_BUILD_COMMIT`); else that of the package, or of the checkout. */
export function readBuild(commit: string | undefined, project = PROJECT): Build {
  const text = readFileSync(join(project, 'package.json'), 'utf8');
  const { version, gitHead } = JSON.parse(text) as { version: string; gitHead?: string };
  const said = commit?.trim() ?? '';
  const found = said === '' ? (gitHead ?? commitOfCheckout(project)) : said;
  return { version, commit: /^[0-9a-f]{7,64}$/i.test(found) ? found.slice(0, COMMIT_DIGITS) : UNKNOWN };
}

/** `1.2.3+0123456789ab`, as semantic versioning writes it. */
export const fullVersion = ({ version, commit }: Build): string =>
  commit === UNKNOWN ? version : `${version}+${commit}`;

/** Read from the files of git: a process of it would make each start slower. */
function commitOfCheckout(project: string): string {
  const git = folderOfGit(project);
  const head = textOf(join(git, 'HEAD'));
  const [, branch] = /^ref: (.+)$/.exec(head) ?? [];
  if (branch === undefined) return head;
  const common = resolve(git, textOf(join(git, 'commondir')) || '.');
  return (
    textOf(join(git, branch)) ||
    textOf(join(common, branch)) ||
    (textOf(join(common, 'packed-refs'))
      .split('\n')
      .find((line) => line.endsWith(` ${branch}`))
      ?.split(' ')[0] ??
      '')
  );
}

/** A worktree has a file in its place, which names the folder. */
function folderOfGit(project: string): string {
  const [, elsewhere] = /^gitdir: (.+)$/.exec(textOf(join(project, '.git'))) ?? [];
  return elsewhere === undefined ? join(project, '.git') : resolve(project, elsewhere);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}
