// Creatinine clearance: Cockcroft DW, Gault MH. Nephron 1976;16:31-41.
function numberBetween(input, field, unit, low, high) {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw invalidInput(`${field} must be a number in ${unit} from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
}

function clearance(input) {
  const age = numberBetween(input, 'age', 'years', 18, 120);
  const weight = numberBetween(input, 'weight', 'kg', 20, 400);
  const creatinine = numberBetween(input, 'creatinine', 'mg/dL', 0.1, 40);
  if (input.sex !== 'female' && input.sex !== 'male') {
    throw invalidInput(`sex must be one of female, male (got ${JSON.stringify(input.sex)})`);
  }

  const value = (((140 - age) * weight) / (72 * creatinine)) * (input.sex === 'female' ? 0.85 : 1);
  return { clearance: Math.round(value * 10) / 10, unit: 'mL/min' };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
