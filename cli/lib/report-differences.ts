import { escapeForMessage } from '../../src/knowledge-object/escape-for-message.ts';
import type { FileDifference } from './package-differences.ts';
import type { Terminal } from './terminal.ts';

export function printDifferences(found: readonly FileDifference[], terminal: Terminal): void {
  for (const { path, kind } of found)
    terminal.print(`  ${terminal[STYLE[kind]](kind.padEnd(7))}  ${escapeForMessage(path)}`);
}

const STYLE = { added: 'good', removed: 'bad', changed: 'warning' } as const;

/** A unified diff. */
export function printPatch(patch: readonly string[], terminal: Terminal): void {
  terminal.print();
  let inHunk = false;
  for (const line of patch) {
    inHunk ||= line.startsWith('@@');
    if (!inHunk) terminal.print(terminal.bold(line));
    else if (line.startsWith('+')) terminal.print(terminal.good(line));
    else if (line.startsWith('-')) terminal.print(terminal.bad(line));
    else terminal.print(line.startsWith('@@') ? terminal.dim(line) : line);
  }
}
