// Two endpoints from one artifact: body mass index and body surface area.

// What is wrong with the input is for the caller to mend: the answer is 400, with the message as its Detail.
class InvalidInputError extends Error {
  name = 'InvalidInputError';
  status = 400;
}

function height(input) {
  return numberBetween(input, 'height', 'cm', 50, 250);
}

function weight(input) {
  return numberBetween(input, 'weight', 'kg', 2, 500);
}

function numberBetween(input, field, unit, low, high) {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw new InvalidInputError(
      `${field} must be a number in ${unit} from ${low} to ${high} (got ${JSON.stringify(value)})`,
    );
  }
  return value;
}

// Categories for adults: WHO Technical Report Series 894, Geneva 2000.
function bmiCategory(bmi) {
  if (bmi < 18.5) return 'underweight';
  if (bmi < 25) return 'normal range';
  if (bmi < 30) return 'pre-obese';
  if (bmi < 35) return 'obese class I';
  if (bmi < 40) return 'obese class II';
  return 'obese class III';
}

function bmi(input) {
  const metres = height(input) / 100;
  const value = Math.round((weight(input) / metres ** 2) * 10) / 10;
  return { bmi: value, unit: 'kg/m2', category: bmiCategory(value) };
}

const BSA_FORMULAS = {
  // Mosteller RD. N Engl J Med 1987;317:1098.
  mosteller: (centimetres, kilograms) => Math.sqrt((centimetres * kilograms) / 3600),
  // Du Bois D, Du Bois EF. Arch Intern Med 1916;17:863-871.
  dubois: (centimetres, kilograms) => 0.007184 * kilograms ** 0.425 * centimetres ** 0.725,
};

function bsa(input) {
  const formula = input?.formula ?? 'mosteller';
  if (typeof formula !== 'string' || !Object.hasOwn(BSA_FORMULAS, formula)) {
    throw new InvalidInputError(
      `formula must be one of ${Object.keys(BSA_FORMULAS).join(', ')} (got ${JSON.stringify(formula)})`,
    );
  }
  const value = BSA_FORMULAS[formula](height(input), weight(input));
  return { bsa: Math.round(value * 100) / 100, unit: 'm2', formula };
}
