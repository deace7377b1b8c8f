/** What code in a runtime can find out of its neighbours, and what a secret would be good for. */
import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathOf } from '../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { costOf } from '../acceptance/support/process-tree.ts';
import { startService, temporaryFolder } from '../acceptance/support/service.ts';
import { runtimeKo } from './support/runtime-ko.ts';

const naan = uniqueNaan();
const PASSWORD = 'the-password-of-ann';
const NPM_TOKEN = 'the-token-of-the-registry';

const READS_ALL = `
import glob
def run(_):
    found = []
    for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
        try:
            found.append(path + ' ' + open(path, 'rb').read().replace(b'\\0', b' ').decode('utf-8', 'replace'))
        except OSError:
            pass
    return found
`;

test('a python KO that reads the environment and command line of every process finds no secret', async () => {
  await using home = await temporaryFolder();
  const shelf = join(home.path, 'shelf');
  const passwordFile = join(home.path, 'password');
  await mkdir(shelf);
  await writeFile(passwordFile, `${PASSWORD}\n`);
  for (const path of [home.path, shelf]) await chmod(path, 0o777);
  await using service = await startService({
    shelf,
    profile: 'secure',
    credentials: `ann:${PASSWORD}`,
    // Behind walls it reads none of them.
    args: ['--runtimes', 'node,python', '--walls', 'off'],
    env: {
      HOME: home.path,
      KGRID_USER: 'ann',
      KGRID_PASSWORD_FILE: passwordFile,
      NPM_TOKEN,
      PIP_INDEX_URL: `http://me:${NPM_TOKEN}@index.test/`,
    },
    // Of root's processes, one without privileges may read nothing anyway.
    unprivileged: true,
  });
  const reads = runtimeKo({ naan, name: 'reads', engine: 'python', code: { 'src/main.py': READS_ALL } });
  const node = runtimeKo({ naan, name: 'node', engine: 'node', code: { 'src/index.js': 'exports.run = () => 1;' } });
  const js = javascriptKo('function run() { return 1; }', { naan, name: 'js' });
  await service.serve(reads, node, js);
  for (const ko of [node, js]) assert.equal((await service.post(pathOf(ko), 1)).object['result'], 1);
  const answer = await service.post(pathOf(reads), 1);
  const found = answer.object['result'] as string[];
  assert.ok(
    found.some((text) => text.includes('KGRID_PASSWORD_FILE=')),
    'it reads that of the service',
  );
  const { pids } = (await costOf(service.pid)).tree;
  const ours = found.filter((text) => pids.includes(Number(text.split('/')[2])));
  const started = ours.filter((text) => !text.startsWith(`/proc/${service.pid}/`));
  assert.ok(started.length >= 5, 'sandboxes and workers');
  for (const text of ours) assert.ok(!text.includes(PASSWORD), text);
  for (const text of started) {
    assert.ok(!text.includes(NPM_TOKEN), text);
    // As long as the secret of a start, and no digest.
    assert.doesNotMatch(text.replace(/[0-9a-f]{40,}|scratch-[\w-]+/g, ''), /SECRET|\b[\w-]{43}\b/i);
  }
});
