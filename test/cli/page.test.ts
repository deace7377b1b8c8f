import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { edit, fromTemplate, kgrid, temporaryFolder } from './kgrid.ts';

const HOSTILE = `</title><script>alert(1)</script><img src=x onerror='alert(2)'>`;

test('the information page says what the metadata says, escaped, loads nothing, and overwrites nothing unasked', async () => {
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  const ko = await fromTemplate('javascript-2', cwd, 'map');
  await edit(
    join(ko, 'metadata.json'),
    /"dc:title": "[^"]*"/.exec(await readFile(join(ko, 'metadata.json'), 'utf8'))?.[0] ?? '',
    `"dc:title": ${JSON.stringify(HOSTILE)},
  "koio:hasKnowledge": {"dc:title": "Guideline", "dc:date": "2020", "dc:source": ["J 1:2, https://example.org/a", "javascript:alert(3)"]}`,
  );
  const made = await kgrid(['page', 'map'], { cwd });
  assert.deepEqual([made.code, made.stderr], [0, '']);
  const page = await readFile(join(ko, 'index.html'), 'utf8');
  assert.equal(page.match(/<script>/g)?.length, 1);
  assert.ok(page.includes('<h1>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&#39;'), page);
  assert.deepEqual(page.match(/(?:href|src)="[^"]*"/g), ['href="https://example.org/a"']);
  assert.match(page, /Guideline.*J 1:2.*Date: 2020/);
  assert.match(page, /<dt>Licence<\/dt><dd><span class="missing">not stated</);
  assert.match(page, /POST \/test\/map\/1\.0\/calculate/);
  assert.match(page, /&quot;systolic&quot;: 120/);
  assert.match(page, /default-src 'none'; style-src 'sha256-/);
  const again = await kgrid(['page', 'map'], { cwd });
  assert.equal(again.code, 2);
  assert.match(again.stderr, /is there already: give --force to overwrite it, nothing was changed/);
  assert.equal((await kgrid(['page', 'map', '--force'], { cwd })).code, 0);
});
