import type { BenchCase } from '../lib/bench.ts';
import { besideBare } from '../lib/beside-bare.ts';
import { CLEARANCE, benchKo } from '../lib/kos.ts';

const ASYNC = CLEARANCE.replace('function run', 'async function run');

export const executeAsync: BenchCase = {
  name: 'execute-async',
  about: 'one javascript knowledge object with an async function',
  run: (bench) =>
    besideBare(bench, { case: 'execute-async', kos: [benchKo('clearance', ASYNC)], connections: [10, 100] }),
};
