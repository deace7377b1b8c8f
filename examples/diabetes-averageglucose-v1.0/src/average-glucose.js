// Estimated average glucose from HbA1c: Nathan DM et al. (ADAG study), Diabetes Care 2008;31:1473-1478.
// 28.7 x 6 - 46.7 is 125.5 on paper and a hair less in binary: without the hair it would round down.
const round = (value) => Math.round(value + 1e-9);

async function estimate(measurement, index) {
  const a1c = measurement?.a1c;
  if (typeof a1c !== 'number' || !(a1c >= 3 && a1c <= 20)) {
    throw invalidInput(`measurements[${index}].a1c must be a number in % from 3 to 20 (got ${JSON.stringify(a1c)})`);
  }
  return {
    ...measurement,
    mgPerDl: round(28.7 * a1c - 46.7),
    mmolPerL: round((1.59 * a1c - 2.59) * 10) / 10,
  };
}

async function averageGlucose(input) {
  const measurements = input?.measurements;
  if (!Array.isArray(measurements) || measurements.length === 0) {
    throw invalidInput('measurements must be a list with at least one entry such as {"date": "2024-03-01", "a1c": 7}');
  }
  const estimates = await Promise.all(measurements.map(estimate));
  return { estimates };
}

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
