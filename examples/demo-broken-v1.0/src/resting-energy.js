// Resting energy expenditure: Mifflin MD et al., Am J Clin Nutr 1990;51:241-247.
function restingEnergy(input) {
  for (const field of ['age', 'height', 'weight']) {
    if (typeof input?.[field] !== 'number') throw invalidInput(`${field} must be a number`);
  }
  if (input.sex !== 'female' && input.sex !== 'male') throw invalidInput('sex must be one of female, male');
  const kcal = 10 * input.weight + 6.25 * input.height - 5 * input.age + (input.sex === 'male' ? 5 : -161);
  return { restingEnergy: Math.round(kcal), unit: 'kcal/day' };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
