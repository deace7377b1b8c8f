/** The knowledge object of these tests, and services for it. */
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../../acceptance/support/ko.ts';
import { startService } from '../../acceptance/support/service.ts';
import type { OwnService } from '../../acceptance/support/service.ts';
import type { BatchResult } from './batch-client.ts';

export const naan = uniqueNaan();
const CODE = `
function run(input) {
  if (input === 'loop') for (;;);
  if (input.large) return 'x'.repeat(input.large);
  if (input.work) { const end = Date.now() + input.work; while (Date.now() < end); }
  return input.n ?? input;
}`;
/** Answers `n` or its input, after as much work as it says. */
export const well = javascriptKo(CODE, { naan, name: 'well' });
export const path = pathOf(well);

export async function start(args: readonly string[] = []): Promise<OwnService> {
  const service = await startService({ args });
  await service.serve(well);
  return service;
}

export const numbers = (count: number): string => Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join('');
export const results = (answer: Pick<BatchResult, 'lines'>): unknown[] => answer.lines.map(({ result }) => result);
