import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { contentOn, failsWith, filesOf, koId, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { openStoredShelf } from './open-stored-shelf.ts';

const ID = 'a/b/v1';
const holder = join(import.meta.dirname, '../../../test/crash/hold-shelf.ts');

test('a second activator on a shelf is refused and told who the first is, until that one has died', async () => {
  await using dir = await temporaryFolder();
  const first = spawn(process.execPath, [holder, dir.path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(first.stdout, 'data');
  const refusal: unknown = await openStoredShelf(dir.path).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(refusal instanceof Error);
  assert.match(
    refusal.message,
    /^--shelf: .* is in use by another activator \(process \d+, since 20.*, http:\/\/127\.0\.0\.1:9\)/,
  );
  assert.match(refusal.message, new RegExp(`process ${String(first.pid)},`));
  assert.doesNotMatch(refusal.message, /\n/);
  first.kill('SIGKILL');
  await once(first, 'exit');
  await using shelf = await openStoredShelf(dir.path);
  await put(shelf, ID);
});

test('deleting the note of who it is, or all of .kgrid, under an activator lets no second one in', async () => {
  await using dir = await temporaryFolder();
  const first = spawn(process.execPath, [holder, dir.path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(first.stdout, 'data');
  const refused = { code: 'start-refused', message: /is in use by another activator/ };
  await rm(join(dir.path, '.kgrid/owner.json'));
  await assert.rejects(openStoredShelf(dir.path), refused);
  await rm(join(dir.path, '.kgrid'), { recursive: true });
  await assert.rejects(openStoredShelf(dir.path), refused);
  first.kill('SIGKILL');
  await once(first, 'exit');
  await using shelf = await openStoredShelf(dir.path);
  await put(shelf, ID);
});

test('without koffi the program flock locks the shelf', async () => {
  await using dir = await temporaryFolder();
  const open = `import('${join(import.meta.dirname, 'open-stored-shelf.ts')}').then(({ openStoredShelf }) => openStoredShelf(process.argv[1]))
    .then(() => console.log('opened'), (thrown) => console.log(thrown.message)); process.stdin.resume().on('end', () => process.exit())`;
  const withoutKoffi = `import { registerHooks } from 'node:module';
    registerHooks({ resolve: (specifier, context, next) => { if (specifier.includes('koffi')) throw new Error('none'); return next(specifier, context); } });`;
  const loader = `data:text/javascript,${encodeURIComponent(withoutKoffi)}`;
  const child = spawn(process.execPath, ['--import', loader, '-e', open, dir.path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'opened');
  await assert.rejects(openStoredShelf(dir.path), { code: 'start-refused', message: /is in use by another activator/ });
  child.stdin.end();
  await once(child, 'exit');
});

for (const part of ['.', '.kgrid', '.kgrid/shelf.db', '.kgrid/objects']) {
  test(`a shelf of which ${part} was replaced under an activator is not written until it is back`, async () => {
    await using dir = await temporaryFolder();
    const root = join(dir.path, 'shelf');
    await using shelf = await openStoredShelf(root);
    const staging = await shelf.stage();
    await staging.write('metadata.json', Buffer.from(`{"@id": "${ID}"}`));
    await rename(join(root, part), join(dir.path, 'away'));
    await mkdir(join(root, part));
    const refused = failsWith('shelf-not-writable', /was moved, deleted or replaced while this activator runs/);
    await assert.rejects(staging.commit(koId(ID)), refused);
    await assert.rejects(shelf.stage(), refused);
    assert.match(shelf.condition().problem ?? '', /was moved, deleted or replaced/);
    await rm(join(root, part), { recursive: true });
    await rename(join(dir.path, 'away'), join(root, part));
    await put(shelf, ID);
    assert.equal(shelf.condition().problem, undefined);
  });
}

test('a shelf that was closed takes no more changes and can be opened by the next', async () => {
  await using dir = await temporaryFolder();
  const first = await openStoredShelf(dir.path);
  await put(first, ID);
  const staging = await first.stage();
  await staging.write('metadata.json', Buffer.from('{}'));
  await first[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  await using second = await openStoredShelf(dir.path);
  await assert.rejects(first.stage(), failsWith('shelf-not-writable', /closed/));
  await assert.rejects(staging.commit(koId(ID)), failsWith('shelf-not-writable', /closed/));
  await assert.rejects(first.remove(koId(ID)), failsWith('shelf-not-writable', /closed/));
  assert.deepEqual(await contentOn(second, ID), filesOf(ID));
});

test('closing waits for what is being written', async () => {
  await using dir = await temporaryFolder();
  const shelf = await openStoredShelf(dir.path);
  const staged = await shelf.stage();
  await staged.write('metadata.json', Buffer.from('{}'));
  const last = staged.commit(koId(ID));
  await shelf[Symbol.asyncDispose]();
  await last;
  await using again = await openStoredShelf(dir.path);
  assert.ok(await again.find(koId(ID)));
  assert.deepEqual(await readdir(join(dir.path, '.kgrid/staging')), []);
});

test('a read-only shelf serves without an owner and refuses every change', async () => {
  await using dir = await temporaryFolder();
  {
    await using shelf = await openStoredShelf(dir.path);
    await put(shelf, ID);
  }
  await dir.add({ 'ko/metadata.json': '{"@id": "a/b/v2"}' });
  await withoutPermissionToWrite(dir.path, async () => {
    const warnings: string[] = [];
    const onWarning = (message: string): void => void warnings.push(message);
    await using shelf = await openStoredShelf(dir.path, { onWarning });
    await using other = await openStoredShelf(dir.path);
    assert.match(warnings.join(), /^The shelf cannot be written by this user/);
    assert.equal((await shelf.list()).length, 2);
    assert.deepEqual(await contentOn(shelf, ID), filesOf(ID));
    assert.deepEqual(await contentOn(other, 'a/b/v2'), { 'metadata.json': '{"@id": "a/b/v2"}' });
    await shelf.check();
    await shelf.rescan();
    assert.equal((await shelf.list()).length, 2);
    const refused = failsWith('shelf-not-writable', /read-only/);
    await assert.rejects(shelf.stage(), refused);
    for (const id of [ID, 'a/b/v2']) {
      await assert.rejects(shelf.replaceMetadata(koId(id), '{}'), refused);
      await assert.rejects(shelf.remove(koId(id)), refused);
    }
  });
});

test('a folder that was never a shelf and cannot be written serves what lies in it', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'ko/metadata.json': '{"@id": "a/b/v2"}' });
  await withoutPermissionToWrite(dir.path, async () => {
    await using shelf = await openStoredShelf(dir.path);
    assert.equal((await shelf.list()).length, 1);
    await shelf.check();
  });
});

test('a folder that cannot be a shelf stops the start with one line that names the setting', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ file: 'x', 'broken/.kgrid': 'x' });
  const cases = [
    ['file', /^--shelf: \S+\/file is a file; give a folder$/],
    ['file/below', /^--shelf: the folder \S+\/file\/below cannot be made \(ENOTDIR\)$/],
    ['broken', /^--shelf: the folder \S+\/broken\/\.kgrid cannot be made \((ENOTDIR|EEXIST)\)$/],
  ] as const;
  for (const [name, message] of cases) {
    await assert.rejects(openStoredShelf(join(dir.path, name)), { code: 'start-refused', message });
  }
});

test('the check and a look fail when the shelf folder is gone; what was known stays', async () => {
  await using dir = await temporaryFolder();
  await dir.add({ 'shelf/ko/metadata.json': '{"@id": "a/b/v2"}' });
  await using shelf = await openStoredShelf(join(dir.path, 'shelf'));
  await shelf.check();
  await rm(join(dir.path, 'shelf'), { recursive: true });
  await assert.rejects(shelf.check(), /^Error: The shelf folder cannot be read \(ENOENT\)$/);
  await assert.rejects(shelf.rescan(), /^Error: The shelf folder cannot be read \(ENOENT\)$/);
  assert.equal((await shelf.list()).length, 1);
});

/** Permissions do not bind root, who therefore becomes another user for the time of the test. */
async function withoutPermissionToWrite(path: string, body: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0;
  const folders = [path, ...['', '/staging', '/objects', '/index'].map((folder) => `${path}/.kgrid${folder}`)];
  const setModes = async (mode: number): Promise<void> => {
    for (const folder of folders) await chmod(folder, mode).catch(() => undefined);
  };
  await setModes(0o555);
  if (isRoot) process.seteuid?.(65534);
  try {
    await body();
  } finally {
    if (isRoot) process.seteuid?.(0);
    await setModes(0o755);
  }
}
