/** Calls of javascript knowledge objects beside the same functions in a bare `node:http` server. */
import type { BenchCase } from '../lib/bench.ts';
import { besideBare } from '../lib/compare.ts';
import { benchKo, CLEARANCE, endpointId, manyKos } from '../lib/kos.ts';

export const execute: BenchCase = {
  name: 'execute',
  about: 'one javascript knowledge object',
  run: (bench) =>
    besideBare(bench, { case: 'execute', kos: [benchKo('clearance', CLEARANCE)], connections: [10, 100] }),
};

/** Each patient differs, so that nothing can answer from a memory of the one before. */
const BODIES = Array.from({ length: 48 }, (_, i) =>
  JSON.stringify({
    patient: `p-${1000 + i * 37}`,
    age: 21 + i,
    weight: 52.5 + i * 1.25,
    creatinine: Math.round(70 + i * 3.1) / 100,
    female: i % 2 === 0,
  }),
);

const STAGE = `
function run({ patient, age, weight, creatinine, female }) {
  const clearance = Math.round(((140 - age) * weight * (female ? 0.85 : 1)) / (72 * creatinine) * 10) / 10;
  const stage = clearance >= 90 ? 'G1' : clearance >= 60 ? 'G2' : clearance >= 30 ? 'G3' : 'G4';
  return { patient, clearance, unit: 'mL/min', stage, adjust: clearance < 60 };
}`;

export const realistic: BenchCase = {
  name: 'realistic',
  about: 'one javascript knowledge object, called for 48 patients in turn',
  run(bench) {
    const ko = benchKo('stage', STAGE);
    const requests = BODIES.map((body) => ({ ...ko.call, body }));
    return besideBare(bench, { case: 'realistic', kos: [ko], requests, connections: [10, 100] });
  },
};

const ASYNC = CLEARANCE.replace('function run', 'async function run');

export const executeAsync: BenchCase = {
  name: 'execute-async',
  about: 'one javascript knowledge object with an async function',
  run: (bench) =>
    besideBare(bench, { case: 'execute-async', kos: [benchKo('clearance', ASYNC)], connections: [10, 100] }),
};

export const hundred: BenchCase = {
  name: 'hundred',
  about: '100 javascript knowledge objects called in turn',
  run: (bench) => besideBare(bench, { case: 'hundred', kos: manyKos(100), connections: [100] }),
};

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
