import type { BenchCase } from '../lib/bench.ts';
import { besideBare } from '../lib/beside-bare.ts';
import { manyKos } from '../lib/kos.ts';

export const hundred: BenchCase = {
  name: 'hundred',
  about: '100 javascript knowledge objects called in turn',
  run: (bench) => besideBare(bench, { case: 'hundred', kos: manyKos(100), connections: [100] }),
};
