import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

/** A folder that goes away when it is disposed of, and also when the process is interrupted. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'kgrid-cli-'));
  const onExit = (): void => rmSync(path, { recursive: true, force: true });
  process.once('exit', onExit);
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true, force: true });
      process.off('exit', onExit);
    },
  };
}
