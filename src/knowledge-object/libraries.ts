/** The libraries of a knowledge object that deploys nothing: files whose exported functions can be called. */
import { posix } from 'node:path';
import { withoutEndSlashes } from '../lib/text.ts';
import type { LinkedObject } from './linked-data.ts';
import { withoutDot } from './package-path.ts';
import { plainType } from './service-refs.ts';

/** A service of type `library`. */
export interface LibraryRef {
  /** By which its default export is called: fit for the path of an endpoint. */
  readonly name: string;
  readonly description?: string;
  /** Paths of files in JavaScript, TypeScript or Python, in their order. */
  readonly files: readonly string[];
}

const ENGINES: ReadonlyMap<string, string> = new Map([
  ...['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts'].map((ending) => [ending, 'node'] as const),
  ['.py', 'python'],
]);

/** The engine that runs a file of a library; undefined where none does. */
export const libraryEngine = (file: string): string | undefined => ENGINES.get(posix.extname(file).toLowerCase());

/** In their order; those that are implemented by other things are left out. */
export function librariesOf(root: LinkedObject): LibraryRef[] {
  return root.objects('hasService').flatMap((service) => {
    if (!service.types.some((type) => plainType(type) === 'library')) return [];
    const files = service
      .objects('implementedBy')
      .map(({ id = '' }) => withoutDot(id.trim().replace(/^_:/, '')))
      .filter((file) => libraryEngine(file) !== undefined && !/^[a-z][a-z\d+.-]*:\/\//i.test(file));
    const [first] = files;
    if (first === undefined) return [];
    const description = service.text('description');
    return [
      {
        name: nameOf(service, first),
        ...(description === undefined ? {} : { description }),
        files: [...new Set(files)],
      },
    ];
  });
}

/** The last part of the service's `@id`, or else its name, or that of its file. */
function nameOf(service: LinkedObject, file: string): string {
  const id = withoutEndSlashes((service.id ?? '').replace(/^_:/, ''));
  const words = [
    id.slice(Math.max(id.lastIndexOf('/'), id.lastIndexOf('#'), id.lastIndexOf(':')) + 1),
    ...['name', 'title', 'label'].map((term) => service.text(term) ?? ''),
    posix.basename(file, posix.extname(file)),
  ];
  return words.map(asName).find(isFunctionName) ?? 'library';
}

const asName = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[_.-]+/, '')
    .slice(0, MOST_CHARACTERS);

const MOST_CHARACTERS = 64;
const FUNCTION_NAME = /^[A-Za-z0-9-][A-Za-z0-9_.-]{0,63}$/;

/** "`[A-Za-z0-9_.-]`, not beginning with `_` or `.`." */
export const isFunctionName = (name: string): boolean => FUNCTION_NAME.test(name);
