/** What lies beside a manifest on this host: an archive, or a folder, which is given as a zip. */
import { constants } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { dirname, join, posix, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { escapeForMessage } from '../../knowledge-object/escape-for-message.ts';
import { isPackagePath } from '../../knowledge-object/package-path.ts';
import { importRefused } from '../../lib/errors.ts';
import { IGNORED } from '../unpacked/unpacked-folder.ts';
import { writeZip } from '../zip/write-zip.ts';
import { allowedPath, openFile, pathOf, refuse } from './open-file.ts';
import type { FilePolicy } from './open-file.ts';

/** More than any package may have. */
const MAX_FILES = 20_000;

/** @throws importRefused, where a link leads out of the folder of the manifest too. */
export async function openBeside(url: URL, manifest: URL, policy: FilePolicy): Promise<Readable> {
  const path = await allowedPath(pathOf(url), policy);
  const folder = await realpath(dirname(pathOf(manifest))).catch(refuse);
  if (path !== folder && !path.startsWith(folder.replace(/\/$/, '') + sep))
    throw importRefused('leaves the folder of its manifest');
  if (!(await lstat(path)).isDirectory()) return openFile(url, policy);
  const files = await filesIn(path);
  return writeZip(
    files.map((file) => ({
      path: file,
      content: async () => {
        const handle = await open(join(path, file), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
        return handle.createReadStream();
      },
    })),
  );
}

async function filesIn(root: string): Promise<string[]> {
  const files: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(refuse)) {
      const path = posix.join(folder, entry.name);
      if (IGNORED.has(entry.name)) continue;
      if (entry.isDirectory()) await walk(path);
      else if (!entry.isFile()) throw importRefused(`holds ${escapeForMessage(path)}, which is no regular file`);
      else if (!isPackagePath(path)) throw importRefused(`holds ${escapeForMessage(path)}, which no package may have`);
      else files.push(path);
      if (files.length > MAX_FILES) throw importRefused(`holds more than ${MAX_FILES} files`);
    }
  };
  await walk('');
  return files;
}
