import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesOf, put } from '../../../test/conformance/shelf-packages.ts';
import { temporaryFolder } from '../../../test/conformance/temporary-folder.ts';
import { openStoredShelf } from '../store/open-stored-shelf.ts';

test('the digest of a package is what sha256sum says of its files in order of their paths', async () => {
  await using dir = await temporaryFolder();
  await using shelf = await openStoredShelf(join(dir.path, 'shelf'));
  // The last two stand in the other order by UTF-16.
  const paths = ['src/a.js', 'src.js', 'Größe/Ω.txt', 'ﬀ.txt', '🧬.txt'];
  const files = filesOf('a/b/v1', Object.fromEntries(paths.map((path) => [path, path])));
  const { digest } = await put(shelf, 'a/b/v1', files);
  await mkdir(join(dir.path, 'package'));
  await dir.add(Object.fromEntries(Object.entries(files).map(([path, text]) => [`package/${path}`, text])));
  const printed = execFileSync(
    'sh',
    ['-c', "find . -type f -printf '%P\\0' | sort -z | xargs -0 sha256sum | sha256sum"],
    { cwd: join(dir.path, 'package'), env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' }, encoding: 'utf8' },
  );
  assert.equal(printed.split(' ')[0], digest);
});
