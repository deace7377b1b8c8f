// CKD-EPI creatinine equation of 2009: Levey AS et al., Ann Intern Med 2009;150:604-612.
function numberBetween(input, field, unit, low, high) {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw invalidInput(`${field} must be a number in ${unit} from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
}

function oneOf(input, field, allowed) {
  const value = input?.[field];
  if (!allowed.includes(value)) {
    throw invalidInput(`${field} must be one of ${allowed.join(', ')} (got ${JSON.stringify(value)})`);
  }
  return value;
}

function egfr(input) {
  const creatinine = numberBetween(input, 'creatinine', 'mg/dL', 0.1, 40);
  const age = numberBetween(input, 'age', 'years', 18, 120);
  const female = oneOf(input, 'sex', ['female', 'male']) === 'female';
  const raceTerm = input.raceTerm === undefined ? false : oneOf(input, 'raceTerm', [true, false]);

  const ratio = creatinine / (female ? 0.7 : 0.9);
  const value =
    141 *
    Math.min(ratio, 1) ** (female ? -0.329 : -0.411) *
    Math.max(ratio, 1) ** -1.209 *
    0.993 ** age *
    (female ? 1.018 : 1) *
    (raceTerm ? 1.159 : 1);

  return { egfr: Math.round(value), unit: 'mL/min/1.73 m2', equation: 'CKD-EPI 2009 creatinine' };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
