// US Preventive Services Task Force, JAMA 2019;322(22):2211-2218.

const WORDS = {
  B: 'Offer one-time screening with ultrasonography',
  C: 'Offer screening selectively, by medical and family history and what the person wants',
  D: 'Do not screen',
  I: 'The evidence is insufficient to weigh benefits and harms of screening',
};

function recommendation(person) {
  const { age, sex, everSmoked, familyHistory } = checked(person);
  const grade = age < 50 ? null : gradeOf(age >= 65 && age <= 75, sex, everSmoked, familyHistory);
  return {
    applies: grade !== null,
    grade,
    recommendation: grade === null ? 'The statement says nothing about this person' : WORDS[grade],
  };
}

/** The statement is about adults of 50 years and more; all of its grades but D about those from 65 to 75. */
function gradeOf(is65To75, sex, everSmoked, familyHistory) {
  if (sex === 'female' && !everSmoked && !familyHistory) return 'D';
  if (!is65To75) return null;
  if (sex === 'female') return 'I';
  return everSmoked ? 'B' : 'C';
}

function checked(person) {
  const wrong = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
  const { age, sex, everSmoked, familyHistory } = person ?? {};
  if (typeof age !== 'number' || !(age >= 18 && age <= 120))
    throw wrong(`age must be a number in years from 18 to 120 (got ${JSON.stringify(age)})`);
  if (sex !== 'female' && sex !== 'male') throw wrong(`sex must be one of female, male (got ${JSON.stringify(sex)})`);
  for (const [field, value] of Object.entries({ everSmoked, familyHistory }))
    if (typeof value !== 'boolean') throw wrong(`${field} must be true or false`);
  return { age, sex, everSmoked, familyHistory };
}
