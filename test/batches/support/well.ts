/** The knowledge object of these tests, and services for it. */
import { after } from 'node:test';
import { pathOf } from '../../acceptance/support/knowledge-grid.ts';
import { javascriptKo, uniqueNaan } from '../../acceptance/support/ko.ts';
import { startService } from '../../acceptance/support/service.ts';
import type { OwnService } from '../../acceptance/support/service.ts';
import type { BatchResult } from './batch-client.ts';

export const naan = uniqueNaan();
export const CODE = `
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

function once(args: readonly string[]): () => Promise<OwnService> {
  let shared: Promise<OwnService> | undefined;
  return () =>
    (shared ??= start(args).then((service) => {
      after(() => service[Symbol.asyncDispose]());
      return service;
    }));
}

/** The service of all files of batches that run in this process; its limits are none that a busy machine meets. */
export const theBatchService = once(['--execution-timeout', '60s']);

/** Another, that breaks off where nothing moves, and has little room for answers. */
export const theHastyService = once([
  ...['--batch-idle', '1s', '--max-batch-spool', '2MB'],
  ...['--execution-timeout', '60s'],
]);

export const numbers = (count: number): string => Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join('');
export const results = (answer: Pick<BatchResult, 'lines'>): unknown[] => answer.lines.map(({ result }) => result);
