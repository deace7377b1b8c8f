// From a chart to the person whom the recommendation is about, and from the recommendation to a card.
// SNOMED CT codes of conditions.
const RISK_FACTORS = {
  38341003: 'hypertension',
  44054006: 'diabetes',
  73211009: 'diabetes',
  77176002: 'smoking',
  370992007: 'dyslipidemia',
};
const CARDIOVASCULAR = ['53741008', '22298006', '230690007', '49601007'];
const SNOMED = 'http://snomed.info/sct';

const resourcesOf = (bundle) => (bundle?.entry ?? []).map(({ resource }) => resource);

export function personOfChart({ prefetch: { patient, conditions, risk } }) {
  const codes = resourcesOf(conditions).flatMap(({ code }) =>
    (code?.coding ?? []).filter(({ system }) => system === SNOMED).map((each) => each.code),
  );
  if (codes.some((code) => CARDIOVASCULAR.includes(code))) return null;
  const age = ageOf(patient.birthDate);
  const [observation] = resourcesOf(risk);
  const percent = observation?.valueQuantity?.value;
  if (age === undefined || typeof percent !== 'number') throw missing('there is no birth date or no 10-year risk');
  if (age < 40) return null;
  return { age, risk: percent, riskFactors: [...new Set(codes.map((code) => RISK_FACTORS[code]).filter(Boolean))] };
}

function ageOf(birthDate) {
  const born = new Date(birthDate);
  if (Number.isNaN(born.getTime())) return undefined;
  const now = new Date();
  const had = now.getMonth() > born.getMonth() || (now.getMonth() === born.getMonth() && now.getDate() >= born.getDate());
  return now.getFullYear() - born.getFullYear() - (had ? 0 : 1);
}

export function cardsOfRecommendation({ result, input }) {
  if (!result.applies || result.grade === 'I') return [];
  return [
    {
      summary: `${result.recommendation} (USPSTF grade ${result.grade})`.slice(0, 139),
      indicator: 'info',
      detail: `Age ${input.age}, 10-year risk ${input.risk} %, ${input.riskFactors.join(', ')}.`,
    },
  ];
}

// The chart lacks what the rule needs: no advice is given.
const missing = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 422 });
