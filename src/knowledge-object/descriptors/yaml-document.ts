import {
  type Alias,
  Composer,
  type CST,
  type Document,
  type ErrorCode,
  isAlias,
  LineCounter,
  type Node,
  Parser,
  visit,
} from 'yaml';
import { importRefused } from '../../lib/errors.ts';
import { escapeForMessage, hasMore, withoutMark } from '../../lib/text.ts';

export type YamlNode = Node | null | undefined;

export interface YamlDocument {
  readonly document: Document.Parsed;
  /** What a node stands for: an alias gives the node with its anchor. */
  readonly resolve: (node: unknown) => YamlNode;
  /** From 1. */
  readonly line: (node: YamlNode) => number;
}

/**
 * Parses the first document of a YAML file. Duplicate keys, unknown tags and loose indentation of `[]` and `{}`
 * are no errors.
 * @throws importRefused with the file, the line and the reason.
 */
export function parseYaml(source: string, file: string): YamlDocument {
  const text = withoutMark(source);
  if (hasMoreMarks(text, MAX_MARKS)) {
    throw importRefused(`${file} has more than ${String(MAX_MARKS)} lines, brackets and separators: make it smaller`);
  }
  const lines = new LineCounter();
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const failure: Failure = (offset, reason, code = '') => {
    const line = lineAt(offset);
    const message = `${file} is not valid YAML: line ${String(line)}: ${escapeForMessage(reason)}${yamlHint(code)}`;
    return importRefused(message, { problems: [{ message, file, line }] });
  };
  const document = firstDocument(text, lines, failure);
  const targets = text.includes('*') ? aliasTargets(document) : NO_ALIASES;
  for (const [alias, target] of targets) {
    if (target === undefined)
      throw failure(alias.range?.[0] ?? 0, `*${alias.source} refers to nothing above it`, 'BAD_ALIAS');
  }
  return {
    document,
    resolve: (node) => (isAlias(node) ? targets.get(node) : (node as YamlNode)),
    line: (node) => lineAt(node?.range?.[0] ?? 0),
  };
}

/** The parser needs about 2 µs and 100 bytes for each of these, whatever they are. */
const MARKS = /[\n,[\]{}&*!"'#?|>]|[:-](?=\s)/g;
const MAX_MARKS = 600_000;

/** Whether the text has more lines, brackets and separators than that: the parser's time grows with them. */
export const hasMoreMarks = (text: string, most: number): boolean => hasMore(MARKS, text, most);

const NO_ALIASES: ReadonlyMap<Alias, Node | undefined> = new Map();

/** Each alias with the last node before it that has its anchor. */
function aliasTargets(document: Document.Parsed): ReadonlyMap<Alias, Node | undefined> {
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node | undefined>();
  visit(document, {
    Node: (_key, node) => {
      if (isAlias(node)) targets.set(node, anchors.get(node.source));
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

const HARMLESS: ReadonlySet<string> = new Set(['TAG_RESOLVE_FAILED', 'KEY_OVER_1024_CHARS']);

type Failure = (offset: number, message: string, code?: string) => Error;
type Place = number | readonly number[] | { offset: number };

function firstDocument(text: string, lines: LineCounter, failure: Failure): Document.Parsed {
  const composer = new Composer({ uniqueKeys: false, strict: false, merge: true, logLevel: 'silent' });
  let first: Error | undefined;
  // The composer would collect every error of a hostile file, one for each character, at 10 µs apiece: stop at the
  // first. Enclosing collections catch what is thrown here and report it again.
  composer['onError'] = (place: Place, code: string, message: string, warning?: boolean): void => {
    if (warning === true || HARMLESS.has(code)) return;
    first ??= failure(offsetOf(place), message, code);
    throw first;
  };
  try {
    const tokens = untilSecondDocument(new Parser(lines.addNewLine).parse(text));
    for (const document of composer.compose(tokens, true, text.length)) {
      const [error] = document.errors;
      if (error !== undefined) throw failure(error.pos[0], error.message, error.code);
      return document;
    }
  } catch (thrown) {
    if (thrown instanceof RangeError) throw failure(0, 'it is nested too deeply');
    throw thrown;
  }
  throw failure(0, 'it holds no document');
}

function* untilSecondDocument(tokens: Iterable<CST.Token>): Generator<CST.Token> {
  let documents = 0;
  for (const token of tokens) {
    if (token.type === 'document' && ++documents > 1) return;
    yield token;
  }
}

const offsetOf = (place: Place): number =>
  typeof place === 'number' ? place : 'offset' in place ? place.offset : (place[0] ?? 0);

/** What to do about the commonest errors of YAML, which the parser tells in words of its own. */
const HINTS: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY: 'put a value that holds ": " in quotes, and indent the keys of one map alike',
  BLOCK_IN_FLOW: 'within { } and [ ] put a comma between the items, and a value that holds ": " in quotes',
  MULTILINE_IMPLICIT_KEY:
    'write "key: value" with a space behind the colon, and within { } and [ ] a comma between items',
  MISSING_CHAR: 'write "key: value", put a comma between items, and close each quote and bracket',
  BAD_INDENT: 'indent the keys of one map alike, and close each { and [',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: 'where it is part of a text, put the text in quotes',
  BAD_SCALAR_START: 'put the value in quotes',
  BAD_ALIAS: 'put a value that begins with * in quotes',
  BAD_DQ_ESCAPE: 'put the text in single quotes, where a backslash is one',
} satisfies Partial<Record<ErrorCode, string>>;

/** To stand behind the words of the parser; empty where these must do. */
const yamlHint = (code: string): string => (HINTS[code] === undefined ? '' : `: ${HINTS[code]}`);
