// Warfarin dose, pharmacogenetic algorithm of the International Warfarin Pharmacogenetics Consortium (IWPC):
// Klein TE et al., N Engl J Med 2009;360:753-764, with its supplementary appendix.
// The coefficients give the square root of the weekly dose in mg.
const VKORC1 = { 'G/G': 0, 'A/G': -0.8677, 'A/A': -1.6974, unknown: -0.4854 };
const CYP2C9 = {
  '*1/*1': 0,
  '*1/*2': -0.5211,
  '*1/*3': -0.9357,
  '*2/*2': -1.0616,
  '*2/*3': -1.9206,
  '*3/*3': -2.3312,
  unknown: -0.2188,
};
const RACE = { white: 0, asian: -0.1092, black: -0.276, 'mixed or unknown': -0.1032 };

function numberBetween(input, field, unit, low, high) {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw invalidInput(`${field} must be a number in ${unit} from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
}

function coefficient(input, field, table) {
  const value = input[field];
  if (typeof value !== 'string' || !Object.hasOwn(table, value)) {
    throw invalidInput(`${field} must be one of ${Object.keys(table).join(', ')} (got ${JSON.stringify(value)})`);
  }
  return table[value];
}

function yesOrNo(input, field) {
  if (typeof input[field] !== 'boolean') throw invalidInput(`${field} must be true or false`);
  return input[field];
}

function dose(input) {
  const age = numberBetween(input, 'age', 'years', 18, 120);
  const height = numberBetween(input, 'height', 'cm', 100, 250);
  const weight = numberBetween(input, 'weight', 'kg', 20, 300);

  const squareRoot =
    5.6044 -
    0.2614 * Math.floor(age / 10) + // in decades: 1 for 10 to 19 years, 2 for 20 to 29, …
    0.0087 * height +
    0.0128 * weight +
    coefficient(input, 'vkorc1', VKORC1) +
    coefficient(input, 'cyp2c9', CYP2C9) +
    coefficient(input, 'race', RACE) +
    (yesOrNo(input, 'enzymeInducer') ? 1.1816 : 0) -
    (yesOrNo(input, 'amiodarone') ? 0.5503 : 0);
  // A square root below 0 would turn, squared, into a dose that grows as the need falls.
  const weekly = Math.max(squareRoot, 0) ** 2;

  return {
    weeklyDose: Math.round(weekly * 10) / 10,
    dailyDose: Math.round((weekly / 7) * 10) / 10,
    unit: 'mg',
    algorithm: 'IWPC pharmacogenetic',
  };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
