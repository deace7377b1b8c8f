/** `kgrid rollback` brings back what a push or a delete took off the shelf. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startService } from '../acceptance/support/service.ts';
import { edit, fromTemplate, kgrid, kgridJson, temporaryFolder } from './kgrid.ts';

const ID = 'test/code/v1.0';

test('rollback undoes a push and a delete, activates, lists what is kept, and picks by the begin of a digest', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const code = await fromTemplate('javascript', cwd, 'code');
  await using service = await startService();
  const env = { KGRID_URL: service.url };
  const titleOf = async (): Promise<unknown> => (await service.get(`/kos/${ID}`)).object['title'];

  const nothing = await kgrid(['rollback', ID], { env });
  assert.equal(nothing.code, 1);
  assert.match(nothing.stderr, /404 Not Found: Nothing is kept of test\/code\/v1\.0/);
  await kgrid(['push', 'code', '--no-test'], { cwd, env });
  const first = await titleOf();
  await edit(join(code, 'metadata.json'), /"title": ".*"/, '"title": "Another"');
  await kgrid(['push', 'code', '--no-test', '--replace'], { cwd, env });
  assert.equal(await titleOf(), 'Another');

  const back = await kgrid(['rollback', ID], { env });
  assert.equal(back.code, 0, back.stderr);
  assert.match(
    back.stdout,
    /^Restored test\/code\/v1\.0 at \S+: sha256:[0-9a-f]{64}\n {2}in place of sha256:\S+, which is kept\n {2}ACTIVATED /,
  );
  assert.equal(await titleOf(), first);
  await kgrid(['delete', ID, '--yes'], { env });
  const { json } = await kgridJson<{ kept: { digest: string; why: string; by: string }[] }>(
    ['rollback', ID, '--list'],
    { env },
  );
  assert.deepEqual(
    json.kept.map(({ why, by }) => [why, by]),
    [
      ['deleted', 'dev'],
      ['replaced', 'dev'],
    ],
  );
  const begin = json.kept[1]?.digest.slice(0, 'sha256:'.length + 12) ?? '';
  const chosen = await kgrid(['rollback', ID, '--to', begin, '--no-reload'], { env });
  assert.equal(chosen.code, 0, chosen.stderr);
  assert.match(chosen.stdout, /Nothing was activated/);
  assert.equal(await titleOf(), 'Another');
  assert.equal((await kgrid(['rollback', ID, '--to', 'ffffffffffff'], { env })).code, 1);
  assert.equal((await kgrid(['rollback', ID, '--to', 'xyz'], { env })).code, 2);
});
