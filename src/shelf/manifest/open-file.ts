import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { importRefused } from '../../lib/errors.ts';

/** `within`: folders, by their path; none means that no file may be read. */
export type FilePolicy = 'any' | { readonly within: readonly string[] };

/**
 * Opens a `file:` location.
 * @throws importRefused that never says more than the caller wrote, nor whether a file is there that may not be read.
 */
export async function openFile(url: URL, policy: FilePolicy): Promise<Readable> {
  const path = await allowedPath(pathOf(url), policy);
  // Not blocking: to open a pipe would otherwise wait for a writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(refuse);
  if ((await handle.stat()).isFile()) return handle.createReadStream();
  await handle.close();
  throw importRefused('is not a file');
}

export function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw importRefused('is not the location of a file on this host', { cause });
  }
}

/** Its real path. @throws importRefused. */
export async function allowedPath(path: string, policy: FilePolicy): Promise<string> {
  if (policy === 'any') return realpath(path).catch(refuse);
  const folders: string[] = [];
  for (const folder of policy.within) {
    const real = await realpath(folder).catch(() => undefined);
    if (real !== undefined) folders.push(real);
  }
  const isAllowed = (candidate: string): boolean =>
    folders.some((folder) => candidate.startsWith(folder.replace(/\/$/, '') + sep));
  const real = await realpath(path).catch((thrown: unknown) => {
    // Whether a file is missing is nobody's business where it could not be read anyway.
    const isInside = [...folders, ...policy.within].some((folder) => path.startsWith(resolve(folder) + sep));
    return isInside ? refuse(thrown) : undefined;
  });
  if (real === undefined || !isAllowed(real)) {
    throw importRefused('is a file location that is not allowed: allow its folder with --allow-file-manifests');
  }
  return real;
}

export function refuse(cause: unknown): never {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const reason = code === 'ENOENT' || code === 'ENOTDIR' ? 'names no file' : 'cannot be read';
  throw importRefused(reason, { cause });
}
