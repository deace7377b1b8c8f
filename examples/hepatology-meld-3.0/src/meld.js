// MELD 3.0: Kim WR et al., Gastroenterology 2021;161:1887-1895.
function numberBetween(input, field, unit, low, high) {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw invalidInput(`${field} must be a number in ${unit} from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
}

// The publication sets values beyond these bounds to the bound.
const within = (value, low, high) => Math.min(Math.max(value, low), high);

function meld(input) {
  const bilirubin = within(numberBetween(input, 'bilirubin', 'mg/dL', 0.1, 100), 1, Infinity);
  const inr = within(numberBetween(input, 'inr', 'INR units', 0.5, 20), 1, Infinity);
  const sodium = within(numberBetween(input, 'sodium', 'mmol/L', 90, 190), 125, 137);
  const albumin = within(numberBetween(input, 'albumin', 'g/dL', 0.5, 7), 1.5, 3.5);
  const measured = within(numberBetween(input, 'creatinine', 'mg/dL', 0.1, 40), 1, 3);
  if (input.sex !== 'female' && input.sex !== 'male') {
    throw invalidInput(`sex must be one of female, male (got ${JSON.stringify(input.sex)})`);
  }
  if (typeof input.dialysis !== 'boolean') throw invalidInput('dialysis must be true or false');
  const creatinine = input.dialysis ? 3 : measured;

  const score =
    1.33 * (input.sex === 'female' ? 1 : 0) +
    4.56 * Math.log(bilirubin) +
    0.82 * (137 - sodium) -
    0.24 * (137 - sodium) * Math.log(bilirubin) +
    9.09 * Math.log(inr) +
    11.14 * Math.log(creatinine) +
    1.85 * (3.5 - albumin) -
    1.83 * (3.5 - albumin) * Math.log(creatinine) +
    6;

  // Allocation policy uses scores from 6 to 40.
  return { score: within(Math.round(score), 6, 40), minimum: 6, maximum: 40, version: 'MELD 3.0' };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
