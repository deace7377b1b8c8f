// US Preventive Services Task Force, JAMA 2022;328(8):746-753.
const WORDS = {
  B: 'Prescribe a statin for primary prevention',
  C: 'Offer a statin selectively, by what benefits and harms mean to the person',
  I: 'The evidence is insufficient to weigh benefits and harms of starting a statin',
  none: 'The statement says nothing about this person',
};

const RISK_FACTORS = ['dyslipidemia', 'diabetes', 'hypertension', 'smoking'];

export function recommendation(person) {
  const { age, risk, riskFactors } = checked(person);
  const grade = gradeOf(age, risk, riskFactors.length);
  return { applies: grade !== null, grade, recommendation: WORDS[grade ?? 'none'] };
}

function gradeOf(age, risk, riskFactors) {
  if (age >= 76) return 'I';
  if (age < 40 || riskFactors === 0 || risk < 7.5) return null;
  return risk >= 10 ? 'B' : 'C';
}

function checked(person) {
  const { age, risk, riskFactors } = person ?? {};
  requireNumber({ age }, 'years', 18, 120);
  requireNumber({ risk }, 'percent', 0, 100);
  if (!Array.isArray(riskFactors) || !riskFactors.every((each) => RISK_FACTORS.includes(each)))
    throw wrong(`riskFactors must be a list of ${RISK_FACTORS.join(', ')}`);
  return { age, risk, riskFactors };
}

function requireNumber(field, unit, low, high) {
  for (const [name, value] of Object.entries(field))
    if (typeof value !== 'number' || !(value >= low && value <= high))
      throw wrong(`${name} must be a number in ${unit} from ${low} to ${high}`);
}

const wrong = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 400 });
