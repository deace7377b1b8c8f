import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT, startService } from '../acceptance/support/service.ts';
import type { OwnService } from '../acceptance/support/service.ts';
import { runDocument } from './support/commands.ts';
import { blocksOf } from './support/markdown.ts';
import { read } from './support/project.ts';

const DOCUMENT = 'docs/runtimes.md';

/** Runs the program that the document shows until the scope ends. */
async function startShownRuntime(
  folder: string,
  service: OwnService,
): Promise<Disposable & { readonly pid: number | undefined }> {
  const program = blocksOf(read(DOCUMENT)).find((block) => block.words.includes('runtime'));
  assert.ok(program, 'no block shows a runtime');
  const file = join(folder, 'wordcount.mjs');
  await writeFile(file, program.text);
  const env = { PATH: process.env['PATH'], KGRID_PROXY_ADAPTER_URL: service.url };
  const child = spawn(join(PROJECT, 'node_modules/.bin/node'), [file], { env, stdio: 'inherit' });
  return { pid: child.pid, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

test('the runtime of docs/runtimes.md registers, activates and answers as it shows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kgrid-documents-'));
  try {
    const shelf = join(folder, 'my-shelf');
    await mkdir(shelf);
    await using service = await startService({ shelf });
    using runtime = await startShownRuntime(folder, service);
    assert.ok(runtime.pid);
    await service.logged((line) => line['audit'] === true && line['action'] === 'register');
    assert.equal(await runDocument(DOCUMENT, { url: service.url, folder, shelf }), 1);
    const [about] = (await service.get('/proxy/environments')).list;
    assert.equal(about?.['app'], 'wordcount');
    const failed = await service.post('/hello/words/1.0/count', 'no object');
    assert.equal(failed.status, 400);
    const lost = await service.post('/hello/words/1.0/count', 'null');
    assert.match(String(lost.object['Detail']), /^Code execution error: Cannot read properties of null/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
