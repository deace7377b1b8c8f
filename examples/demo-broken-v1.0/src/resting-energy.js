// Resting energy expenditure: Mifflin MD et al., Am J Clin Nutr 1990;51:241-247.
function restingEnergy(input) {
  for (const field of ['age', 'height', 'weight']) {
    if (typeof input?.[field] !== 'number') throw new Error(`${field} must be a number`);
  }
  if (input.sex !== 'female' && input.sex !== 'male') throw new Error('sex must be one of female, male');
  const kcal = 10 * input.weight + 6.25 * input.height - 5 * input.age + (input.sex === 'male' ? 5 : -161);
  return { restingEnergy: Math.round(kcal), unit: 'kcal/day' };
}
