/** What is found wrong with a knowledge object, each with the place to go to. */
import type { PackageProblem } from '../lib/errors.ts';

export interface Finding extends PackageProblem {
  /** A `problem` keeps it from being imported, activated or right; a `warning` does not. */
  readonly severity: 'problem' | 'warning';
}

export const problem = (file: string, line: number | undefined, message: string): Finding => ({
  severity: 'problem',
  file,
  ...(line === undefined ? {} : { line }),
  message: withoutPlace(message, file, line),
});

export const warning = (file: string, line: number | undefined, message: string): Finding => ({
  ...problem(file, line, message),
  severity: 'warning',
});

/** The sentences of the service name their place; before them stands `file:line` here. */
function withoutPlace(message: string, file: string, line: number | undefined): string {
  if (line === undefined) return message;
  const name = file.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return message
    .replace(new RegExp(`^${name} line ${line}: `), '')
    .replace(new RegExp(` \\(${name}(?:,? line |:)${line}(?:, column |:)?\\d*\\)`), '')
    .replace(new RegExp(`^${name} is (not valid \\w+: )line ${line}(?:, column \\d+)?: `), '$1')
    .replace(new RegExp(`, named by ${name} line ${line}, is`), ' is');
}

/** The place that a sentence of an engine names at its end, when it is a file of the package. */
export function placeOf(
  sentence: string,
  files: ReadonlyMap<string, unknown>,
): { file: string; line: number } | undefined {
  for (const { 1: line, index } of sentence.matchAll(/(?:"?,? line |:)(\d+)/g)) {
    const file = nameBefore(sentence, index);
    if (files.has(file)) return { file, line: Number(line) };
  }
  return undefined;
}

/** Characters of a path in a package. */
const LONGEST_PATH = 1024;

/** The name that ends there. */
function nameBefore(sentence: string, end: number): string {
  let start = end;
  while (start > 0 && end - start < LONGEST_PATH && !/[\s()'",:]/.test(sentence.charAt(start - 1))) start--;
  return sentence.slice(start, end);
}

/** Problems before warnings, then by file and line; each once. */
export function sorted(findings: readonly Finding[]): Finding[] {
  const key = ({ severity, file, line = 0 }: Finding): string => `${severity} ${file} ${String(line).padStart(9, '0')}`;
  const once = new Map(findings.map((each) => [`${key(each)} ${each.message}`, each]));
  return [...once.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
