/** Where the documents are, and their text. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '../../..');

/** The text of a file of the project. */
export const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

/** The Markdown files of the project: those that git has, and those that it is about to have. */
export const markdownFiles = (): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: PROJECT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '');
