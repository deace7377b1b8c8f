// Mean arterial pressure, estimated from a cuff: diastolic + (systolic - diastolic) / 3.

// The caller gets status 422, the title "Invalid Input", and the message as Detail; any other error is a 500.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 422 });

function numberBetween(input, field, low, high) {
  const value = input?.[field];
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw invalidInput(`${field} must be a number in mmHg from ${low} to ${high} (got ${JSON.stringify(value)})`);
  }
  return value;
}

// The function that deployment.yaml names: it gets the parsed input and returns the result, or a promise of it.
module.exports = async function calculate(input) {
  const systolic = numberBetween(input, 'systolic', 30, 300);
  const diastolic = numberBetween(input, 'diastolic', 10, 200);
  if (diastolic >= systolic) throw invalidInput('diastolic must be below systolic');
  const mean = (systolic + 2 * diastolic) / 3;
  return { meanArterialPressure: Math.round(mean * 10) / 10, unit: 'mmHg' };
};
