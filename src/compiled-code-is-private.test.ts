import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, realpath, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const parent = await realpath(await mkdtemp(join(tmpdir(), 'kgrid-compiled-')));
after(() => rm(parent, { recursive: true }));

/** A project of its own, and its user's home. */
async function makePlaces() {
  const folder = await mkdtemp(join(parent, 'p-'));
  const [project, home] = [join(folder, 'project'), join(folder, 'home')];
  await mkdir(home);
  await cp(join(import.meta.dirname, 'compile-cache.js'), join(project, 'src/compile-cache.js'));
  return {
    ofProject: join(project, 'node_modules/.cache/compiled'),
    ofUser: join(home, '.cache/kgrid-activator/compiled'),
    /** The folder that a start chooses; empty where it has none. */
    chosen: async (env: Record<string, string> = {}): Promise<string> => {
      const url = pathToFileURL(join(project, 'src/compile-cache.js')).href;
      const program = `import { getCompileCacheDir } from 'node:module';
        import { keepCompiledCode } from ${JSON.stringify(url)};
        keepCompiledCode();
        process.stdout.write(getCompileCacheDir() ?? '');`;
      const args = ['--input-type=module', '--eval', program];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env: { HOME: home, ...env } });
      assert.equal(stderr, '');
      return stdout === '' ? '' : dirname(stdout);
    },
  };
}

test('compiled code is kept with the packages of the project, where nobody else can write', async () => {
  const { ofProject, chosen } = await makePlaces();
  assert.equal(await chosen(), ofProject);
  assert.equal((await stat(ofProject)).mode & 0o777, 0o700);
});

test('where others can write to that folder, or put it there, it is kept in the cache of the user', async () => {
  for (const mode of [0o777, 0o775, 0o1777]) {
    const { ofProject, ofUser, chosen } = await makePlaces();
    await mkdir(ofProject, { recursive: true });
    await chmod(ofProject, mode);
    assert.equal(await chosen(), ofUser, mode.toString(8));
  }
  const { ofProject, ofUser, chosen } = await makePlaces();
  await mkdir(dirname(ofProject), { recursive: true });
  await symlink(parent, ofProject);
  assert.equal(await chosen(), ofUser);
});

test('where no folder can be had a start goes on without one', async () => {
  const { ofProject, ofUser, chosen } = await makePlaces();
  await mkdir(dirname(ofProject), { recursive: true });
  await symlink('/proc', ofProject);
  await mkdir(dirname(ofUser), { recursive: true });
  await symlink('/proc', ofUser);
  assert.equal(await chosen(), '');
});

test('the variables of Node decide where they are set', async () => {
  const { ofUser, chosen } = await makePlaces();
  assert.equal(await chosen({ NODE_COMPILE_CACHE: ofUser }), ofUser);
  assert.equal(await chosen({ NODE_DISABLE_COMPILE_CACHE: '1' }), '');
});
