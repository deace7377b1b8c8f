import type { BenchCase } from '../lib/bench.ts';
import { besideBare } from '../lib/beside-bare.ts';
import { CLEARANCE, benchKo, endpointId } from '../lib/kos.ts';

const DOSE = `
function run(input) {
  return { total: input.doses.reduce((sum, dose) => sum + dose, 0) };
}`;

const CALLER = `
function run(input) {
  const { clearance } = context.getExecutor('${endpointId('clearance')}').execute(input);
  const { total } = context.getExecutor('${endpointId('dose')}').execute(input);
  return { name: input.name, total: clearance < 60 ? total / 2 : total };
}`;

export const chain: BenchCase = {
  name: 'chain',
  about: 'a javascript knowledge object that calls two others',
  run(bench) {
    const caller = benchKo('caller', CALLER);
    const kos = [benchKo('clearance', CLEARANCE), benchKo('dose', DOSE), caller];
    return besideBare(bench, { case: 'chain', kos, requests: [caller.call], connections: [10, 100] });
  },
};
