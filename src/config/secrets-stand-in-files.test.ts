import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { configOf, refusalOf } from '../../test/support/config/config-of.ts';

const folder = await mkdtemp(join(tmpdir(), 'kgrid-secrets-'));
after(() => rm(folder, { recursive: true }));

async function file(content: string | Buffer, mode = 0o600): Promise<string> {
  const path = join(folder, `f${Math.random()}`);
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}

test('the password is the text of its file without the newline at its end', async () => {
  for (const [content, password] of [
    ['secret', 'secret'],
    ['secret\n', 'secret'],
    ['se cret\r\n', 'se cret'],
    ['two\n\n', 'two\n'],
    [' ü ', ' ü '],
  ] as const) {
    const path = await file(content);
    assert.equal(configOf(['--user', 'u', '--password-file', path]).basic?.password.reveal(), password);
    assert.equal(configOf(['--user', 'u'], { KGRID_PASSWORD_FILE: path }).basic?.password.reveal(), password);
  }
});

test('a password file that cannot be read, is empty, or stands beside a password stops the start', async () => {
  const missing = join(folder, 'missing');
  assert.equal(
    refusalOf(['--user', 'u'], { KGRID_PASSWORD_FILE: missing }),
    `KGRID_PASSWORD_FILE names ${missing}, which cannot be read (ENOENT)`,
  );
  await mkdir(join(folder, 'folder'));
  assert.match(refusalOf(['--user', 'u', '--password-file', join(folder, 'folder')]), /cannot be read \(EISDIR\)$/);
  assert.match(
    refusalOf(['--user', 'u', '--password-file', await file('\n')]),
    /is empty: write the password into it$/,
  );
  assert.match(refusalOf(['--user', 'u', '--password-file', '/dev/zero']), /has more than 65536 bytes$/);
  const path = await file('in the file');
  const both = refusalOf(['--user', 'u', '--password-file', path], { KGRID_PASSWORD: 'of the variable' });
  assert.equal(both, 'KGRID_PASSWORD and --password-file are both given: leave one out');
  assert.match(refusalOf(['--password-file', path]), /^KGRID_USER is missing/);
});

test('the key of call tokens is the bytes of a file that nobody else may open', async () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i));
  assert.deepEqual(configOf(['--call-key-file', await file(bytes)]).callKey, bytes);
  assert.deepEqual(configOf([], { KGRID_CALL_KEY_FILE: await file(bytes, 0o440) }).callKey, bytes);
  assert.equal(configOf([]).callKey, undefined);
  const short = await file('x'.repeat(31));
  assert.equal(
    refusalOf(['--call-key-file', short]),
    `--call-key-file names ${short}, which has 31 bytes, but must have at least 32: head -c 32 /dev/urandom > ${short}`,
  );
  const open = await file(bytes, 0o644);
  assert.equal(
    refusalOf([], { KGRID_CALL_KEY_FILE: open }),
    `KGRID_CALL_KEY_FILE names ${open}, which every user of this machine may open: chmod 600 ${open}`,
  );
  assert.match(refusalOf(['--call-key-file', join(folder, 'none')]), /which cannot be read \(ENOENT\)$/);
});
