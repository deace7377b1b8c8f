// The same equation, with a bracket missing on line 3: this file cannot be compiled.
function restingEnergy(input) {
  const kcal = 10 * input.weight + 6.25 * input.height - 5 * input.age + (input.sex === 'male' ? 5 : -161;
  return { restingEnergy: Math.round(kcal), unit: 'kcal/day' };
}
