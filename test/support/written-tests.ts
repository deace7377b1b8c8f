/** Which tests are written, and which of them a list in Markdown names: `- **statement** …`, below it `  - file › title`. */

export interface Row {
  /** What stands in bold. */
  readonly statement: string;
  /** `<file> › <title>`. */
  readonly tests: readonly string[];
}

export const rowsOf = (markdown: string): Row[] =>
  markdown
    .split(/^- \*\*/m)
    .slice(1)
    .map((row) => ({
      statement: /^[^*]+/.exec(row)?.[0] ?? '',
      tests: [...row.matchAll(/^ {2}- (.+ › .+)$/gm)].map((match) => match[1] ?? ''),
    }));

const TYPESCRIPT =
  /(?<![.\w])(?:t\.)?(?:test|longTest|it|describe|attack)\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;
const PYTHON = /^def (test_\w+)/gm;

/** The titles of the tests in a file, in their order; what a loop fills in is `…`. */
export function titlesIn(source: string, file: string): string[] {
  const found = [...source.matchAll(file.endsWith('.py') ? PYTHON : TYPESCRIPT)];
  return found.map(([, ...titles]) => (titles.find((each) => each !== undefined) ?? '').replace(/\$\{[^}]*\}/g, '…'));
}
