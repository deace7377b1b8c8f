// CYP2C19 diplotype to metabolizer phenotype, as in the CPIC guideline for clopidogrel:
// Lee CR et al., Clin Pharmacol Ther 2022;112:959-967.
var ALLELE_FUNCTION = {
  '*1': 'normal',
  '*2': 'no',
  '*3': 'no',
  '*4': 'no',
  '*5': 'no',
  '*6': 'no',
  '*7': 'no',
  '*8': 'no',
  '*9': 'decreased',
  '*10': 'decreased',
  '*17': 'increased',
};

// Keys are the two functions in alphabetical order.
var PHENOTYPE = {
  'increased+increased': 'Ultrarapid Metabolizer',
  'increased+normal': 'Rapid Metabolizer',
  'normal+normal': 'Normal Metabolizer',
  'decreased+normal': 'Likely Intermediate Metabolizer',
  'decreased+increased': 'Likely Intermediate Metabolizer',
  'decreased+decreased': 'Likely Intermediate Metabolizer',
  'no+normal': 'Intermediate Metabolizer',
  'increased+no': 'Intermediate Metabolizer',
  'decreased+no': 'Likely Poor Metabolizer',
  'no+no': 'Poor Metabolizer',
};

function phenotype(input) {
  var diplotype = input && input.diplotype;
  var match = typeof diplotype === 'string' && /^\s*(\*\d+)\s*\/\s*(\*\d+)\s*$/.exec(diplotype);
  if (!match) {
    throw invalidInput('diplotype must be two star alleles such as "*1/*2" (got ' + JSON.stringify(diplotype) + ')');
  }

  var alleles = [match[1], match[2]].sort(function (a, b) {
    return a.slice(1) - b.slice(1);
  });
  var functions = alleles.map(function (allele) {
    // Rare alleles are not in this table: to call them normal would be wrong.
    return Object.hasOwn(ALLELE_FUNCTION, allele) ? ALLELE_FUNCTION[allele] : 'uncertain';
  });

  return {
    gene: 'CYP2C19',
    diplotype: alleles.join('/'),
    alleleFunctions: functions,
    phenotype: PHENOTYPE[functions.slice().sort().join('+')] || 'Indeterminate',
  };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
