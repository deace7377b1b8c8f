/** What a build of the image gets: the files that `.dockerignore` leaves, and where the Dockerfile copies them. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../acceptance/support/service.ts';

const read = (name: string): string => readFileSync(join(PROJECT, name), 'utf8');

/** One line of `.dockerignore`: it holds for a path, and for all that lies below one. */
function toRule(line: string): { readonly keeps: boolean; readonly pattern: RegExp } {
  const keeps = line.startsWith('!');
  const glob = (keeps ? line.slice(1) : line).replace(/[.+^${}()|[\]\\]/g, '\\$&');
  const source = glob.replace(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'));
  return { keeps, pattern: new RegExp(`^${source}(?:/|$)`) };
}

const rules = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map(toRule);

/** The last line that holds decides. */
const isKept = (path: string): boolean => rules.findLast(({ pattern }) => pattern.test(path))?.keeps ?? true;

/** Paths of files in the project, sorted. */
export function contextFiles(): string[] {
  const below = (path: string): string[] =>
    readdirSync(join(PROJECT, path), { withFileTypes: true }).flatMap((entry) => {
      const inner = join(path, entry.name);
      if (!isKept(inner)) return [];
      return entry.isDirectory() ? below(inner) : [inner];
    });
  return below('').sort();
}

export interface Copy {
  readonly source: string;
  /** A folder where it ends with a slash. */
  readonly target: string;
}

/** What the last stage takes from the context. */
export function copies(): Copy[] {
  const [, last = ''] = /^FROM [^]*^(FROM [^]*)/m.exec(read('Dockerfile')) ?? [];
  return [...last.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)].flatMap(([, sources = '', target = '']) =>
    sources.split(' ').map((source) => ({ source, target })),
  );
}

/** Files of the project, and where they lie in the folder of the image's application. */
export function imageFiles(): Map<string, string> {
  const files = contextFiles();
  const found = copies().flatMap(({ source, target }) => {
    const taken = files.filter((file) => file === source || file.startsWith(`${source}/`));
    if (taken.length === 0) throw new Error(`COPY ${source}: .dockerignore leaves nothing of it, or it is not there`);
    return taken.map((file): [string, string] => [
      file,
      join(target.endsWith('/') ? join(target, source) : target, file.slice(source.length)),
    ]);
  });
  return new Map(found);
}
