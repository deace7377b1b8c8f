'use strict';

// Acute kidney injury (AKI) by serum creatinine: KDIGO Clinical Practice Guideline for Acute Kidney Injury.
// Kidney Int Suppl 2012;2:1-138. Urine output and dialysis are not looked at.
const { creatininesOf, invalidInput } = require('./creatinine.js');

// To two decimals, as laboratories report mg/dL: 1.2 - 0.9 must count as 0.3, and so must 26.5 umol/L, the threshold
// of the guideline in SI units.
const round = (value) => Math.round(value * 100) / 100;
// A ratio is not rounded before it is compared, but freed of binary noise.
const denoise = (value) => Math.round(value * 1e9) / 1e9;

const lowest = (results) => Math.min(...results.map((result) => result.mgPerDl));

function stageOf({ current, ratio, rise }) {
  const injury = ratio >= 1.5 || rise >= 0.3;
  if (!injury) return 0;
  if (ratio >= 3 || current >= 4) return 3;
  return ratio >= 2 ? 2 : 1;
}

module.exports = function stage(bundle) {
  const results = creatininesOf(bundle);
  const latest = results.at(-1);
  if (latest === undefined) throw invalidInput('the Bundle holds no final creatinine result (LOINC 2160-0 or 14682-9)');

  const within = (hours) => results.filter((result) => latest.time.diff(result.time, 'hours').hours <= hours);
  const lastWeek = within(7 * 24);
  const current = round(latest.mgPerDl);
  const baseline = round(lowest(lastWeek));
  const ratio = denoise(latest.mgPerDl / lowest(lastWeek));
  const rise = round(latest.mgPerDl - lowest(within(48)));

  return {
    // One result alone shows no change: there is nothing to stage yet.
    stage: lastWeek.length < 2 ? null : stageOf({ current, ratio, rise }),
    creatinine: { value: current, unit: 'mg/dL', time: latest.time.toISO({ suppressMilliseconds: true }) },
    baseline: { value: baseline, unit: 'mg/dL', window: '7 days' },
    ratioToBaseline: round(ratio),
    riseIn48Hours: rise,
    resultsInWindow: lastWeek.length,
  };
};
