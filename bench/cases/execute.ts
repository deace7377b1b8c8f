import type { BenchCase } from '../lib/bench.ts';
import { besideBare } from '../lib/beside-bare.ts';
import { CLEARANCE, benchKo } from '../lib/kos.ts';

export const execute: BenchCase = {
  name: 'execute',
  about: 'one javascript knowledge object',
  run: (bench) =>
    besideBare(bench, { case: 'execute', kos: [benchKo('clearance', CLEARANCE)], connections: [10, 100] }),
};
