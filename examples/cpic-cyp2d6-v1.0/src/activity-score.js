// CYP2D6 diplotype, as plain text, to activity score and phenotype. Consensus of CPIC and DPWG:
// Caudle KE et al., Clin Transl Sci 2020;13:116-124.
const ACTIVITY = {
  '*1': 1,
  '*2': 1,
  '*3': 0,
  '*4': 0,
  '*5': 0, // the whole gene is deleted
  '*6': 0,
  '*9': 0.5,
  '*10': 0.25,
  '*17': 0.5,
  '*29': 0.5,
  '*41': 0.5,
};

function alleleActivity(text) {
  const match = /^(\*\d+)(?:x(\d+))?$/.exec(text);
  if (match === null) {
    throw invalidInput(`"${text}" is not a star allele such as *4, or *2x2 for two copies of it`);
  }
  const [, allele, copies = '1'] = match;
  if (!Object.hasOwn(ACTIVITY, allele)) {
    throw invalidInput(`the allele ${allele} is not in this table; known: ${Object.keys(ACTIVITY).join(' ')}`);
  }
  if (Number(copies) < 1 || Number(copies) > 13 || (allele === '*5' && copies !== '1')) {
    throw invalidInput(`"${text}" has an impossible number of copies`);
  }
  return ACTIVITY[allele] * Number(copies);
}

function phenotypeOf(score) {
  if (score === 0) return 'Poor Metabolizer';
  if (score < 1.25) return 'Intermediate Metabolizer';
  if (score <= 2.25) return 'Normal Metabolizer';
  return 'Ultrarapid Metabolizer';
}

function activityScore(text) {
  const alleles = String(text)
    .replace(/\s+/g, '')
    .replace(/^CYP2D6:?/i, '')
    .split('/');
  if (alleles.length !== 2) {
    throw invalidInput('the text must be one CYP2D6 diplotype: two alleles with a slash between, such as *1/*4');
  }
  const score = alleleActivity(alleles[0]) + alleleActivity(alleles[1]);
  return { gene: 'CYP2D6', diplotype: alleles.join('/'), activityScore: score, phenotype: phenotypeOf(score) };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
