// CKD-EPI creatinine equation of 2021: Inker LA et al., N Engl J Med 2021;385:1737-1749.
// GFR categories: KDIGO 2012, Kidney Int Suppl 2013;3:1-150.
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

// The category is that of the reported, whole number, so that the two never contradict each other.
function gfrCategory(egfr) {
  if (egfr >= 90) return 'G1';
  if (egfr >= 60) return 'G2';
  if (egfr >= 45) return 'G3a';
  if (egfr >= 30) return 'G3b';
  if (egfr >= 15) return 'G4';
  return 'G5';
}

function egfr(input) {
  const creatinine = numberBetween(input, 'creatinine', 'mg/dL', 0.1, 40);
  const age = numberBetween(input, 'age', 'years', 18, 120);
  const female = oneOf(input, 'sex', ['female', 'male']) === 'female';

  const ratio = creatinine / (female ? 0.7 : 0.9);
  const value = Math.round(
    142 *
      Math.min(ratio, 1) ** (female ? -0.241 : -0.302) *
      Math.max(ratio, 1) ** -1.2 *
      0.9938 ** age *
      (female ? 1.012 : 1),
  );

  return {
    egfr: value,
    unit: 'mL/min/1.73 m2',
    category: gfrCategory(value),
    equation: 'CKD-EPI 2021 creatinine',
  };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
