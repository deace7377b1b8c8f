import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from './support/project.ts';
import { generatedDocuments, UNWRITTEN } from './support/tables.ts';

for (const [file, text] of generatedDocuments()) {
  test(`the tables of ${file} are those that npm run docs writes, and each row says what it means`, () => {
    assert.equal(read(file), text, 'run npm run docs');
    assert.ok(!text.includes(`| ${UNWRITTEN} `));
  });
}
