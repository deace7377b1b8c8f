import type { BenchCase } from '../lib/bench.ts';
import { besideBare } from '../lib/beside-bare.ts';
import { benchKo } from '../lib/kos.ts';
import type { BenchRequest } from '../lib/wrk.ts';

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

const CLEARANCE = `
function run({ patient, age, weight, creatinine, female }) {
  const clearance = Math.round(((140 - age) * weight * (female ? 0.85 : 1)) / (72 * creatinine) * 10) / 10;
  const stage = clearance >= 90 ? 'G1' : clearance >= 60 ? 'G2' : clearance >= 30 ? 'G3' : 'G4';
  return { patient, clearance, unit: 'mL/min', stage, adjust: clearance < 60 };
}`;

export const realistic: BenchCase = {
  name: 'realistic',
  about: 'one javascript knowledge object, called for 48 patients in turn',
  run(bench) {
    const ko = benchKo('stage', CLEARANCE);
    const requests = BODIES.map((body): BenchRequest => ({ ...ko.call, body }));
    return besideBare(bench, { case: 'realistic', kos: [ko], requests, connections: [10, 100] });
  },
};
