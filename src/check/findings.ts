/** What is found wrong with a knowledge object, each with the place to go to. */
import { isMap, isScalar, isSeq, type Pair } from 'yaml';
import { parseYaml, type YamlNode } from '../knowledge-object/descriptors/yaml-document.ts';
import { type PackageProblem, ServiceError } from '../lib/errors.ts';

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

/** A YAML or JSON text as data, with the line of each of its values. */
export interface PlacedData {
  readonly value: unknown;
  /** Gives the line, from 1, of the value at this path, or of the nearest value around it. */
  readonly lineOf: (path: readonly string[]) => number;
  /** A scalar as it is written: `1.0` gives "1.0". */
  readonly sourceOf: (path: readonly string[]) => string | undefined;
}

/** Undefined where it cannot be read, which is a problem already. */
export function readPlaced(text: string, file: string): PlacedData | undefined {
  try {
    const { document, resolve, line } = parseYaml(text, file);
    const walk = (path: readonly string[]): { node: YamlNode; at: number; whole: boolean } => {
      let node = resolve(document.contents);
      let at = line(node);
      for (const part of path) {
        if (isMap(node)) {
          const pair: Pair | undefined = node.items.findLast((each) => keyOf(resolve(each.key)).includes(part));
          if (pair === undefined) return { node, at, whole: false };
          at = line(pair.key as YamlNode);
          node = resolve(pair.value);
        } else if (isSeq(node)) {
          const item = node.items[Number(part)];
          if (item === undefined) return { node, at, whole: false };
          at = line(item as YamlNode);
          node = resolve(item);
        } else return { node, at, whole: false };
      }
      return { node, at, whole: true };
    };
    return {
      value: document.toJS(),
      lineOf: (path) => walk(path).at,
      sourceOf: (path) => {
        const { node, whole } = walk(path);
        return whole && isScalar(node) && node.value !== null ? node.source : undefined;
      },
    };
  } catch (thrown) {
    // What is endless by its aliases is a ReferenceError.
    if (thrown instanceof ServiceError || thrown instanceof ReferenceError) return undefined;
    throw thrown;
  }
}

/** Gives a key as it is written, and as JavaScript names it. */
const keyOf = (key: YamlNode): readonly (string | undefined)[] =>
  isScalar(key) ? [key.source, String(key.value)] : [];

/** What a check needs cannot be read or used, such as a file or a port: the message is for people. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** Where a check says how it goes on; a terminal is one. */
export interface Progress {
  /** What goes on now, in place of what went on before; an empty text takes it away. */
  progress(text: string): void;
  /** A line beside the result. */
  note(line: string): void;
  dim(text: string): string;
}

export const SILENT: Progress = { progress: () => undefined, note: () => undefined, dim: (text) => text };
