const numberBetween = (input, field, unit, low, high) => {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw invalidInput(`${field} must be a number in ${unit} from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
};

const oneOf = (input, field, allowed) => {
  if (!allowed.includes(input[field])) {
    throw invalidInput(`${field} must be one of ${allowed.join(', ')} (got ${JSON.stringify(input[field])})`);
  }
  return input[field];
};

/** Checks the input and gives it back complete; the ranges are those for which the equations were made. */
export const readPatient = (input) => ({
  age: numberBetween(input, 'age', 'years', 40, 79),
  sex: oneOf(input, 'sex', ['female', 'male']),
  race: oneOf(input, 'race', ['white', 'african american', 'other']),
  totalCholesterol: numberBetween(input, 'totalCholesterol', 'mg/dL', 130, 320),
  hdlCholesterol: numberBetween(input, 'hdlCholesterol', 'mg/dL', 20, 100),
  systolicBloodPressure: numberBetween(input, 'systolicBloodPressure', 'mmHg', 90, 200),
  treatedForHypertension: oneOf(input, 'treatedForHypertension', [true, false]),
  smoker: oneOf(input, 'smoker', [true, false]),
  diabetes: oneOf(input, 'diabetes', [true, false]),
});

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
