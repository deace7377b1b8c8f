/** What an activator says of endpoints, for people. */
import { escapeForMessage } from '../../src/lib/text.ts';
import type { ListedEndpoint } from './client.ts';
import type { Terminal } from './terminal.ts';

export const isActive = ({ status }: Pick<ListedEndpoint, 'status'>): boolean => status === 'ACTIVATED';

const WORDS: readonly [string, string][] = [
  ['ACTIVATED', 'active'],
  ['FAILED_TO_ACTIVATE', 'failed'],
  ['LOADED', 'not decided'],
];

/** `2 active, 1 failed`. */
export function summaryOf(endpoints: readonly ListedEndpoint[]): string {
  const counts = WORDS.map(([status, word]) => [endpoints.filter((each) => each.status === status).length, word]);
  const some = counts.filter(([many]) => many !== 0).map((each) => each.join(' '));
  return some.length === 0 ? 'not active' : some.join(', ');
}

/** The status, what may stand behind it, and below that the cause. */
export function printListed(endpoint: ListedEndpoint, url: string, terminal: Terminal): void {
  const { id, engine, status, detail } = endpoint;
  const word = isActive(endpoint) ? terminal.good(status) : terminal.bad(escapeForMessage(status));
  terminal.print(`  ${word}  ${url}/${escapeForMessage(id)}  ${terminal.dim(escapeForMessage(engine))}`);
  if (detail !== undefined) for (const line of detail.split(/\r?\n/)) terminal.print(`    ${line}`);
}
