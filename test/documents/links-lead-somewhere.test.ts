import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { anchorsOf, linksOf } from './support/markdown.ts';
import { PROJECT, markdownFiles, read } from './support/project.ts';

const isRelative = (target: string): boolean => !/^[a-z][a-z\d+.-]*:/i.test(target);

/** Why a link of a file leads nowhere; undefined when it leads somewhere. */
function problemOf(file: string, target: string): string | undefined {
  const [path = '', anchor] = decodeURI(target).split('#');
  const place = path === '' ? file : join(dirname(file), path);
  if (place.startsWith('..')) return 'it leaves the project';
  if (!existsSync(join(PROJECT, place))) return 'there is no such file';
  if (anchor === undefined || !place.endsWith('.md') || statSync(join(PROJECT, place)).isDirectory()) return undefined;
  return anchorsOf(read(place)).has(anchor) ? undefined : `${place} has no such heading`;
}

test('every relative link of every Markdown file leads to a file and a heading that are there', () => {
  const files = markdownFiles();
  assert.ok(files.includes('README.md'));
  const broken = files.flatMap((file) =>
    linksOf(read(file))
      .filter(isRelative)
      .flatMap((target) => {
        const problem = problemOf(file, target);
        return problem === undefined ? [] : [`${file}: ${target}: ${problem}`];
      }),
  );
  assert.deepEqual(broken, []);
});

test('no document says a section twice', () => {
  const twice = markdownFiles().flatMap((file) => {
    const sections: readonly string[] = read(file).match(/^## .+$/gm) ?? [];
    return sections.filter((each, i) => sections.indexOf(each) !== i).map((each) => `${file}: ${each}`);
  });
  assert.deepEqual(twice, []);
});
