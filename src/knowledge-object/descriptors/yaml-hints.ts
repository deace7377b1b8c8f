import type { ErrorCode } from 'yaml';

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
export const yamlHint = (code: string): string => (HINTS[code] === undefined ? '' : `: ${HINTS[code]}`);
