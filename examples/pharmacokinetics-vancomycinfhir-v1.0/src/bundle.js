const LOINC = 'http://loinc.org';
const HOURS = { h: 1, d: 24 };

/** What the caller sent is at fault, and not this code: the answer is 422. */
export const invalidInput = (message) =>
  Object.assign(new Error(message), { name: 'InvalidInputError', status: 422 });

const resourcesOf = (bundle, type) =>
  (bundle.entry ?? []).map((entry) => entry.resource).filter((resource) => resource?.resourceType === type);

const effective = (observation) => observation.effectiveDateTime ?? '';

/** The latest final value of a LOINC code, in the one unit that is accepted. */
export function latestValue(bundle, loinc, unit, what) {
  const found = resourcesOf(bundle, 'Observation')
    .filter((observation) => ['final', 'amended', 'corrected'].includes(observation.status))
    .filter((observation) => observation.code?.coding?.some(({ system, code }) => system === LOINC && code === loinc))
    .sort((a, b) => Date.parse(effective(a)) - Date.parse(effective(b)))
    .at(-1);
  const quantity = found?.valueQuantity;
  if (typeof quantity?.value !== 'number') throw invalidInput(`the Bundle holds no final ${what} (LOINC ${loinc})`);
  if ((quantity.code ?? quantity.unit) !== unit) throw invalidInput(`${what} must be in ${unit}`);
  return { value: quantity.value, date: effective(found) };
}

/** Sex and age in whole years on a date, from the only Patient of the Bundle. */
export function patientOn(bundle, date) {
  const [patient, ...others] = resourcesOf(bundle, 'Patient');
  if (patient === undefined || others.length > 0) throw invalidInput('the Bundle must hold exactly one Patient');
  if (patient.gender !== 'female' && patient.gender !== 'male') {
    throw invalidInput('Patient.gender must be female or male for this formula');
  }
  const birth = /^(\d{4})-(\d{2})-(\d{2})$/.exec(patient.birthDate ?? '');
  const then = /^(\d{4})-(\d{2})-(\d{2})/.exec(date);
  if (birth === null || then === null) throw invalidInput('Patient.birthDate and the creatinine date must be full dates');
  const before = then[2] + then[3] < birth[2] + birth[3];
  return { sex: patient.gender, age: Number(then[1]) - Number(birth[1]) - (before ? 1 : 0) };
}

/** Dose in mg, interval and infusion time in hours, from the only active order for vancomycin. */
export function vancomycinOrder(bundle) {
  const orders = resourcesOf(bundle, 'MedicationRequest').filter(
    ({ status, medicationCodeableConcept: drug }) =>
      status === 'active' &&
      [drug?.text, ...(drug?.coding ?? []).map((coding) => coding.display)].some((text) =>
        /vancomycin/i.test(text ?? ''),
      ),
  );
  if (orders.length !== 1) throw invalidInput('the Bundle must hold exactly one active MedicationRequest for vancomycin');

  const instruction = orders[0].dosageInstruction?.[0];
  const dose = instruction?.doseAndRate?.[0]?.doseQuantity;
  const repeat = instruction?.timing?.repeat;
  if (typeof dose?.value !== 'number' || (dose.code ?? dose.unit) !== 'mg') throw invalidInput('the dose must be in mg');
  const hours = HOURS[repeat?.periodUnit];
  if (typeof repeat?.period !== 'number' || hours === undefined) {
    throw invalidInput('the order must repeat with a period in h or d');
  }
  return {
    dose: dose.value,
    interval: (repeat.period * hours) / (repeat.frequency ?? 1),
    ...(repeat.durationUnit === 'h' ? { infusion: repeat.duration } : {}),
  };
}
