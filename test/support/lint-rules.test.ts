import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../conformance/temporary-folder.ts';

const PROJECT = join(import.meta.dirname, '../..');
const CONFIGURED = ['.oxlintrc.json', 'tsconfig.json', 'package.json', 'test/support/lint-rules.ts'];

/** What breaks a rule that is no part of the linter, needs types, or has settings of this project's own. */
const BROKEN = {
  'kgrid(start-with-env)': `import { spawn } from 'node:child_process'; export const f = () => spawn('x', []);`,
  'regexp(no-super-linear-backtracking)': `export const f = /^(?:a*a*)+b$/;`,
  'regexp(no-super-linear-move)': `export const f = /a*b/;`,
  'eslint(no-restricted-imports)': `export { take } from './pending-call.ts';`,
  'eslint(max-lines)': 'console.log(1);\n'.repeat(501),
  'eslint(no-unused-vars)': 'export function f(_unused: number) {}',
  'typescript(no-explicit-any)': 'export type F = any;',
  'typescript(no-non-null-assertion)': 'export const f = (a?: string[]) => a!.length;',
  'typescript(no-floating-promises)': 'export const f = () => { Promise.resolve(1); };',
  'typescript(no-unsafe-return)': `export const f = () => JSON.parse('1');`,
};

const KEPT = `
import { spawn } from 'node:child_process';
import { test } from 'node:test';
test('', () => {});
export const start = () => spawn('x', [], { env: {} });`;

test('the linter finds what breaks the rules of this project, and nothing else', async () => {
  await using folder = await temporaryFolder();
  const at = (path: string) => join(folder.path, path);
  for (const path of CONFIGURED) {
    await mkdir(dirname(at(path)), { recursive: true });
    await copyFile(join(PROJECT, path), at(path));
  }
  await symlink(join(PROJECT, 'node_modules'), at('node_modules'));
  await mkdir(at('src'));
  await writeFile(at('src/kept.ts'), KEPT);
  for (const [rule, code] of Object.entries(BROKEN)) await writeFile(at(`src/${rule}.ts`), code);
  const linter = promisify(execFile)(at('node_modules/.bin/oxlint'), ['--format=json', 'src'], { cwd: folder.path });
  const { stdout } = await linter.catch((failed: { stdout: string }) => failed);
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; filename: string }[] };
  const found = new Set(diagnostics.map(({ code, filename }) => `${filename} ${code}`));
  assert.deepEqual(
    [...found].sort(),
    Object.keys(BROKEN)
      .map((rule) => `src/${rule}.ts ${rule}`)
      .sort(),
  );
});
