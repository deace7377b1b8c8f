// Clopidogrel after acute coronary syndrome or percutaneous coronary intervention, by CYP2C19 phenotype.
// CPIC guideline: Lee CR et al., Clin Pharmacol Ther 2022;112:959-967. Wording is ours.
const STANDARD = {
  action: 'standard dose',
  recommendation: 'If clopidogrel is considered, use the standard dose (75 mg a day).',
  alternatives: [],
};
const AVOID_STANDARD = {
  action: 'avoid standard dose',
  recommendation:
    'Avoid clopidogrel at the standard dose (75 mg a day) if possible; use prasugrel or ticagrelor at standard dose unless contraindicated.',
  alternatives: ['prasugrel', 'ticagrelor'],
};
const AVOID = {
  action: 'avoid',
  recommendation: 'Avoid clopidogrel if possible; use prasugrel or ticagrelor at standard dose unless contraindicated.',
  alternatives: ['prasugrel', 'ticagrelor'],
};

const BY_PHENOTYPE = new Map([
  ['Ultrarapid Metabolizer', { ...STANDARD, strength: 'strong' }],
  ['Rapid Metabolizer', { ...STANDARD, strength: 'strong' }],
  ['Normal Metabolizer', { ...STANDARD, strength: 'strong' }],
  ['Likely Intermediate Metabolizer', { ...AVOID_STANDARD, strength: null }],
  ['Intermediate Metabolizer', { ...AVOID_STANDARD, strength: 'strong' }],
  ['Likely Poor Metabolizer', { ...AVOID, strength: null }],
  ['Poor Metabolizer', { ...AVOID, strength: 'strong' }],
  [
    'Indeterminate',
    {
      action: 'none',
      recommendation: 'No recommendation can be made from this genotype.',
      alternatives: [],
      strength: null,
    },
  ],
]);

function recommendation(input) {
  const phenotype = input?.phenotype;
  const found = BY_PHENOTYPE.get(phenotype);
  if (found === undefined) {
    throw invalidInput(
      `phenotype must be one of ${[...BY_PHENOTYPE.keys()].join(', ')} (got ${JSON.stringify(phenotype)})`,
    );
  }
  return { drug: 'clopidogrel', indication: 'ACS or PCI', phenotype, ...found };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
