// Genotype to recommendation, by calling two other knowledge objects. This one holds no knowledge of its own
// but the order of the steps: CYP2C19 diplotype -> phenotype -> recommendation for clopidogrel.
const PHENOTYPE = 'cpic/cyp2c19/1.0/phenotype';
const RECOMMENDATION = 'cpic/clopidogrel/1.0/recommendation';

function callEndpoint(id, input) {
  const executor = context.getExecutor(id);
  if (executor === null) throw new Error(`the endpoint ${id} is needed and is not active`);
  return executor.execute(input);
}

function recommendationByGenotype(input) {
  const diplotype = input?.diplotypes?.CYP2C19;
  if (typeof diplotype !== 'string' || !/^\s*\*\d+\s*\/\s*\*\d+\s*$/.test(diplotype)) {
    throw invalidInput('diplotypes.CYP2C19 must be two star alleles such as "*1/*2"');
  }
  const genetics = callEndpoint(PHENOTYPE, { diplotype });
  const advice = callEndpoint(RECOMMENDATION, { phenotype: genetics.phenotype });
  return { ...advice, gene: genetics.gene, diplotype: genetics.diplotype };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
