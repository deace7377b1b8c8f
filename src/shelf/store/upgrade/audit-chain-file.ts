/** What is known of the chain of an audit beside its records, so that it is seen where the last ones are missing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from '../../disk-errors.ts';
import type { ChainEnd } from '../../audit/audit-chain.ts';

export interface ChainFile {
  /** The first id that is in the chain: what is older was there before. */
  readonly from: number;
  readonly writer: string;
  readonly end: ChainEnd;
  /** The last one that went because there were too many. */
  readonly trimmed: ChainEnd;
}

const NAME = 'chain.json';

/** Undefined where there is none, or what is there cannot be one. */
export function readChainFile(folder: string): ChainFile | undefined {
  try {
    const { from, writer, end, trimmed } = JSON.parse(readFileSync(join(folder, NAME), 'utf8')) as Partial<ChainFile>;
    const isOne = Number.isSafeInteger(from) && typeof writer === 'string' && isEnd(end) && isEnd(trimmed);
    return isOne && from !== undefined ? { from, writer, end, trimmed } : undefined;
  } catch (thrown) {
    if (isMissing(thrown) || thrown instanceof SyntaxError || thrown instanceof TypeError) return undefined;
    throw thrown;
  }
}

function isEnd(value: unknown): value is ChainEnd {
  const { number, hash } = (value ?? {}) as Partial<ChainEnd>;
  return Number.isSafeInteger(number) && typeof hash === 'string';
}
