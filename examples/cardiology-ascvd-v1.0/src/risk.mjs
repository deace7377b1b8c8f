// Ten-year risk of a first hard ASCVD event, Pooled Cohort Equations:
// Goff DC et al., Circulation 2014;129(25 Suppl 2):S49-S73.
import { equationFor } from './equations.mjs';
import { readPatient } from './patient.mjs';

export function risk(input) {
  const patient = readPatient(input);
  const equation = equationFor(patient.sex, patient.race);
  const sum = equation.sum(patient);
  const probability = 1 - equation.baselineSurvival ** Math.exp(sum - equation.meanSum);
  return { risk: Math.round(probability * 1000) / 10, unit: '% in 10 years', equation: equation.name };
}
