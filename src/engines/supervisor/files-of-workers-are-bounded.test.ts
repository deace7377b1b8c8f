/** One file in the scratch folder is bounded by the kernel, whatever is counted meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findKernel } from '../../confinement/find-kernel.ts';
import { workerPolicy } from './worker-policy.ts';
import { networkedPool } from '../../../test/support/supervisor/networked-pool.ts';

const kernel = await findKernel('require');
/** It takes no place on the disk. */
const CODES = {
  node: `import { truncateSync, writeFileSync } from 'node:fs';
    import { join } from 'node:path';
    import { tmpdir } from 'node:os';
    export function run(bytes) {
      const path = join(tmpdir(), 'file');
      writeFileSync(path, '');
      truncateSync(path, bytes);
      return bytes;
    }`,
  python: `import os, tempfile
def run(bytes):
    with open(os.path.join(tempfile.gettempdir(), "file"), "wb") as file:
        file.truncate(bytes)
    return bytes
`,
};
for (const engine of ['node', 'python'] as const) {
  test(`a file that is larger than a worker may write at all is refused by the kernel: ${engine}`, async () => {
    await using networked = await networkedPool({ engine, kernel });
    const endpoint = await networked.define('a/b/1', CODES[engine]);
    const { scratchBytes } = workerPolicy;
    assert.equal(await endpoint.call(scratchBytes), scratchBytes);
    assert.match(String(await endpoint.call(scratchBytes + 1)), /file too large/i);
  });
}
