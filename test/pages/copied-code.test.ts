import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { javascriptKo, uniqueNaan } from '../acceptance/support/ko.ts';
import { PROJECT, temporaryFolder } from '../acceptance/support/service.ts';
import { prefixProxy } from './support/prefix-proxy.ts';
import { openService } from './support/services.ts';
import { theBrowser } from './support/visit.ts';
import { inRound } from '../support/round.ts';
import { openFront } from './support/front.ts';

const run = promisify(execFile);
const browser = await theBrowser();
const service = await openService();

/** Says by numbers what it was given, in one line. */
const ko = javascriptKo(
  `function run(input) { return Array.from(input, (sign) => sign.codePointAt(0).toString(16)).join(' '); }`,
  { naan: uniqueNaan(), consumes: ['text/plain'] },
);
await service.serve(ko);
/** The addresses in the code are those by which the page came. */
const proxy = await prefixProxy('/behind/it');
after(() => proxy[Symbol.asyncDispose]());
proxy.passTo(service.url);

const INPUTS = [
  `it's "quoted" \\ $HOME $(touch made-by-input) \`touch made-by-input\` !! %s %n \${HOME} {x} #{x}`,
  '@/etc/hostname',
  `'; touch made-by-input #\n"; touch made-by-input #\n\tend'''"""\\`,
  'é 😀 \u2028 \u202e \u0085 \u009b31m \u001b[201~ \u007f \ufeff \\n \\0101',
  '\\u0041 \\n \\x41 \\0101 \\U{41} %%',
  `"); import os; os.system("touch made-by-input") #`,
];
const numbersOf = (text: string): string => Array.from(text, (sign) => sign.codePointAt(0)?.toString(16)).join(' ');

/** The code for each input, as the page gives it. */
async function copiedCodes(page: Page, language: string): Promise<string[]> {
  await page.getByLabel('Language').selectOption(language);
  const codes: string[] = [];
  for (const input of INPUTS) {
    await page.getByLabel('Input as text/plain').fill(input);
    codes.push(await page.getByLabel('Code', { exact: true }).inputValue());
  }
  return codes;
}

/** In place of httr2, where R has it not: the body as it is sent. */
const R_STUBS = `
if (!requireNamespace("httr2", quietly = TRUE)) {
  library <- function(...) NULL
  request <- function(url) list()
  req_method <- req_headers <- function(req, ...) req
  req_body_raw <- function(req, body, type) paste(sprintf("%x", utf8ToInt(enc2utf8(body))), collapse = " ")
  req_perform <- function(req) req
  resp_body_json <- function(response) list(result = response)
}
`;

const PROGRAMS = {
  curl: (codes: readonly string[], cwd: string) =>
    run('sh', ['-c', 'exec </dev/null\n' + codes.map((code) => `${code}\necho`).join('\n')], { cwd }),
  Python: (codes: readonly string[], cwd: string) => run('python3', ['-c', codes.join('\n')], { cwd }),
  JavaScript: (codes: readonly string[], cwd: string) => {
    const script = codes.map((code) => `{\n${code}\n}`).join('\n');
    return run(join(PROJECT, 'node_modules/.bin/node'), ['--input-type=module', '-e', script], { cwd });
  },
  R: (codes: readonly string[], cwd: string) =>
    run('Rscript', ['-e', R_STUBS + codes.map((code) => `cat({\n${code}\n}, "\\n", sep = "")`).join('\n')], { cwd }),
};

type Language = keyof typeof PROGRAMS;
const LANGUAGES = inRound<Language[]>(['curl', 'Python'], ['curl', 'Python', 'JavaScript', 'R']);

/** Without its import, which takes longer than all else here. */
const ASKS = 'import importlib.util, sys; sys.exit(importlib.util.find_spec("requests") is None)';
const python = await run('python3', ['-c', ASKS]).then(
  () => true,
  () => false,
);
const isThere: Partial<Record<Language, boolean>> = { Python: python, R: existsSync('/usr/bin/Rscript') };

test('code that is copied sends exactly what was typed, whatever that holds, and does nothing else', async () => {
  await using folder = await temporaryFolder();
  await using visit = await browser.visit();
  const page = await openFront(visit, proxy.url, `kos/${ko.id}/try`);
  await page.getByText('Copy as code').click();
  const expected = INPUTS.map(numbersOf);
  for (const language of LANGUAGES) {
    const codes = await copiedCodes(page, language);
    for (const code of codes) assert.doesNotMatch(code, /[^\P{Cc}\n]|[\u2028-\u202e]/u, 'nothing steers a terminal');
    if (isThere[language] === false) continue;
    const { stdout } = await PROGRAMS[language](codes, folder.path);
    const lines =
      language === 'curl'
        ? Array.from(stdout.matchAll(/^\{"result":"([^"]*)"/gm), ([, result]) => result)
        : stdout.trim().split('\n');
    assert.deepEqual(lines, expected, language);
    assert.ok(!existsSync(join(folder.path, 'made-by-input')), language);
  }
  visit.assertQuiet(new URL(proxy.url).origin);
  assert.deepEqual(proxy.strays, []);
});
