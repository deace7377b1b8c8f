import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Files } from './shelf-packages.ts';

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
  /** Writes files below it, with the folders that they need. */
  add(files: Files): Promise<void>;
}

/** A folder that goes with its test. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'kgrid-'));
  return {
    path,
    async add(files) {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), content);
      }
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
