'use strict';

const { DateTime } = require('luxon');

// LOINC codes of creatinine in serum or plasma, and what turns their unit into mg/dL.
const LOINC = 'http://loinc.org';
const PER_MG_DL = { '2160-0': { unit: 'mg/dL', factor: 1 }, '14682-9': { unit: 'umol/L', factor: 88.4 } };
const VALID_STATUS = ['final', 'amended', 'corrected'];

/** An error of which the caller gets status 422, the title "Invalid Input", and the message as Detail. */
const invalidInput = (message) => Object.assign(new Error(message), { name: 'InvalidInputError', status: 422 });

function codeOf(observation) {
  const codings = observation.code?.coding ?? [];
  return codings.find((coding) => coding.system === LOINC && Object.hasOwn(PER_MG_DL, coding.code))?.code;
}

function timeOf(observation) {
  const text = observation.effectiveDateTime ?? observation.effectiveInstant ?? observation.effectivePeriod?.end;
  // Times of different zones are compared as instants; a time without a zone is taken as UTC.
  const time = DateTime.fromISO(String(text), { zone: 'utc' });
  if (!time.isValid) throw invalidInput(`Observation/${observation.id ?? '?'} has no valid effective time`);
  return time;
}

function valueOf(observation, { unit, factor }) {
  const quantity = observation.valueQuantity;
  if (typeof quantity?.value !== 'number' || !(quantity.value > 0)) {
    throw invalidInput(`Observation/${observation.id ?? '?'} has no valueQuantity.value above 0`);
  }
  // Two characters look like the Greek letter of micro.
  const given = (quantity.code ?? quantity.unit ?? '').replace(/[\u00b5\u03bc]/, 'u');
  if (given !== unit) {
    throw invalidInput(`Observation/${observation.id ?? '?'} must be in ${unit} for its LOINC code, not in "${given}"`);
  }
  return quantity.value / factor;
}

/** The creatinine results of a FHIR R4 Bundle as `{ mgPerDl, time }`, oldest first. */
function creatininesOf(bundle) {
  if (bundle?.resourceType !== 'Bundle') throw invalidInput('the input must be a FHIR Bundle');
  return (bundle.entry ?? [])
    .map((entry) => entry.resource)
    .filter((resource) => resource?.resourceType === 'Observation' && VALID_STATUS.includes(resource.status))
    .flatMap((observation) => {
      const code = codeOf(observation);
      if (code === undefined) return [];
      return [{ mgPerDl: valueOf(observation, PER_MG_DL[code]), time: timeOf(observation) }];
    })
    .sort((a, b) => a.time.toMillis() - b.time.toMillis());
}

module.exports = { creatininesOf, invalidInput };
