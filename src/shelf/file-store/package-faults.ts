import { join } from 'node:path';
import { isMissing, isTransient } from '../disk-errors.ts';
import { hashFile } from './hash-file.ts';
import { artifactsOf } from './package-content.ts';
import type { Pointer } from './pointer.ts';
import type { ShelfLayout } from './shelf-layout.ts';

/** Reads all files of a package and says which is not as it was stored; undefined when none. @throws what may pass. */
export async function faultOf(layout: ShelfLayout, { content, folder }: Pointer): Promise<string | undefined> {
  for (const { path, size, sha256 } of artifactsOf(content)) {
    const found = await hashFile(join(layout.objects, folder, path), size).catch((thrown: unknown) => {
      if (isTransient(thrown)) throw thrown;
      return isMissing(thrown) ? 'missing' : 'unreadable';
    });
    if (found === sha256) continue;
    return `its file ${path} is ${found === 'missing' ? 'missing' : 'not what was stored'}; import it again`;
  }
  return undefined;
}
