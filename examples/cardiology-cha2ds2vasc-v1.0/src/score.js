// CHA2DS2-VASc: Lip GYH et al., Chest 2010;137:263-272.

// The entry function is a constant, and uses constants that are declared after it.
const cha2ds2vasc = (patient) => {
  const age = patient?.age;
  if (typeof age !== 'number' || !(age >= 18 && age <= 120)) {
    throw invalidInput(`age must be a number in years from 18 to 120 (got ${JSON.stringify(age)})`);
  }
  if (patient.sex !== 'female' && patient.sex !== 'male') {
    throw invalidInput(`sex must be one of female, male (got ${JSON.stringify(patient.sex)})`);
  }

  const points = {};
  for (const [factor, weight] of FACTORS) {
    // A finding that was not looked for is not the same as one that is absent.
    if (typeof patient[factor] !== 'boolean') throw invalidInput(`${factor} must be true or false`);
    points[factor] = patient[factor] ? weight : 0;
  }
  points.age = age >= 75 ? 2 : age >= 65 ? 1 : 0;
  points.sex = patient.sex === 'female' ? 1 : 0;

  const score = Object.values(points).reduce((sum, value) => sum + value, 0);
  return { score, maximum: 9, points, strokeRate: STROKE_RATE[score], strokeRateUnit: '% per year' };
};

const FACTORS = [
  ['heartFailure', 1],
  ['hypertension', 1],
  ['diabetes', 1],
  ['strokeOrTia', 2],
  ['vascularDisease', 1],
];

// Adjusted stroke rate by score, as reprinted in the ESC guideline of 2010 (Eur Heart J 2010;31:2369-2429)
// from Lip GYH et al., Stroke 2010;41:2731-2738. Few patients scored 8 or 9.
const STROKE_RATE = [0, 1.3, 2.2, 3.2, 4.0, 6.7, 9.8, 9.6, 6.7, 15.2];

// What the caller sent is at fault, and not this code: the answer is 400.
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
