import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPackagePath } from './package-path.ts';

const allowed = [
  'metadata.json',
  'src/index.js',
  'a/b/c/d/e/f',
  'with space.txt',
  'x:y',
  'C:relative.txt',
  'index.html:Zone.Identifier',
  '..name',
  'name..',
  '...',
  '.hidden/file',
  '~/file',
  '__proto__',
  'CON',
  'größe/Ω-日本語.json',
  '%2e%2e/x',
  'e\u0301.txt',
  '\u{1F9EC}.txt',
  'a'.repeat(255),
  'é'.repeat(127),
  `${'a'.repeat(255)}/`.repeat(3) + 'b'.repeat(256 - 1),
];

const refused = [
  '',
  '.',
  '..',
  '/',
  '/etc/passwd',
  'C:/Windows',
  'c:/',
  '//host/share',
  '../evil',
  'a/../../evil',
  'a/..',
  'a/./b',
  './a',
  'a//b',
  'a/',
  'a\\b',
  '..\\..\\evil',
  '\\\\server\\share',
  'a\0b',
  'a\nb',
  'a\tb',
  '\x1b[31m',
  'a\x7f',
  'a\x85b',
  '\ud800.txt',
  'a'.repeat(256),
  'é'.repeat(128),
  `${'a'.repeat(255)}/`.repeat(4) + 'b',
];

for (const path of allowed) {
  test(`${JSON.stringify(path).slice(0, 60)} may name a file of a package`, () =>
    assert.equal(isPackagePath(path), true));
}
for (const path of refused) {
  test(`${JSON.stringify(path).slice(0, 60)} may not name a file of a package`, () =>
    assert.equal(isPackagePath(path), false));
}
