/** The service descriptor of a library, which is not in its package: it is read as if it were. */
import { Readable } from 'node:stream';
import type { Activator } from '../../activation/activator.ts';
import { koKey } from '../../knowledge-object/id.ts';
import { digestOf } from '../../lib/digest.ts';
import type { KoPackage } from '../../shelf/shelf.ts';

type Loaded = Pick<Activator, 'loadedKo'>;

/** Its path in the package; undefined where the knowledge object has no library that is served. */
export const madeDescriptor = (activator: Loaded, pkg: KoPackage): string | undefined =>
  activator.loadedKo(koKey(pkg.entry.id))?.library?.file;

/** The package with it; undefined where the path is another. */
export function withMadeDescriptor(activator: Loaded, pkg: KoPackage, path: string): KoPackage | undefined {
  const content = activator.loadedKo(koKey(pkg.entry.id))?.made(path);
  if (content === undefined) return undefined;
  const digest = digestOf(content.toString());
  return {
    entry: { ...pkg.entry, digest },
    files: new Map([[path, { path, size: content.length }]]),
    digestOf: () => undefined,
    read: () => Promise.resolve(content),
    stream: (_path, range) =>
      Promise.resolve(Readable.from([range === undefined ? content : content.subarray(range.start, range.end + 1)])),
    release: () => pkg.release(),
  };
}
