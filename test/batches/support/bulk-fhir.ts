/**
 * Resources as a bulk export of FHIR has them, one a line: made up, of 1 to 20 KB, with what real ones bring into their text.
 * `node test/batches/support/bulk-fhir.ts COUNT` prints so many.
 */
import { pipeline } from 'node:stream/promises';
import { Random } from '../../support/random.ts';

export interface Made {
  readonly line: string;
  /** What `SCORE` makes of it; undefined where it has no value to score. */
  readonly score: unknown;
}

/** Mean arterial pressure of blood pressures, the age in 2020 of patients. */
export const SCORE = `
const LOINC = 'http://loinc.org';
const codeOf = ({ code }) => code.coding.find(({ system }) => system === LOINC)?.code;
function run(resource) {
  const { resourceType, id } = resource;
  if (resourceType === 'Patient')
    return { id, name: resource.name[0].family, age: 2020 - Number(resource.birthDate.slice(0, 4)) };
  const valueOf = (wanted) => resource.component?.find((each) => codeOf(each) === wanted)?.valueQuantity?.value;
  const [systolic, diastolic] = [valueOf('8480-6'), valueOf('8462-4')];
  if (systolic === undefined || diastolic === undefined)
    throw Object.assign(new Error(resourceType + '/' + id + ' has no blood pressure'), { name: 'InvalidInputError', status: 422 });
  return { id, subject: resource.subject.reference, pressure: Math.round((systolic + 2 * diastolic) / 3) };
}`;

const FHIR = 'http://hl7.org/fhir';
const CORE = `${FHIR}/us/core/StructureDefinition`;
const FAMILIES = ['Müller', "O'Keefe", 'Nguyễn', '小林', 'd\u2019Arc\u2028', 'Abdel-Rahman', 'Иванова 🙂'] as const;
const WORDS = [
  'reports',
  'pain <b>none</b>',
  'naïve',
  'a "quoted" word',
  'back\\slash',
  'tab\there',
  'line\nbreak',
  'ß',
] as const;

const coded = (code: string, display: string): object => ({
  coding: [{ system: 'http://loinc.org', code, display }],
  text: display,
});
const quantity = (value: number, unit: string): object => ({
  value,
  unit,
  system: 'http://unitsofmeasure.org',
  code: unit,
});

export function* bulkFhir(count: number, seed = 1): Generator<Made, void, undefined> {
  const random = new Random(seed);
  const id = (): string => {
    const hex = Array.from({ length: 32 }, () => random.below(16).toString(16)).join('');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  };
  const prose = (words: number): string => Array.from({ length: words }, () => random.oneOf(WORDS)).join(' ');
  let subject = `Patient/${id()}`;
  for (let i = 0; i < count; i++) {
    const resource = i % 10 === 0 ? patient() : observation();
    yield { line: JSON.stringify(resource.made), score: resource.score };
  }

  function narrative(words: number): object {
    return { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${prose(words)}</div>` };
  }

  function patient(): { made: object; score: unknown } {
    const own = id();
    subject = `Patient/${own}`;
    const family = random.oneOf(FAMILIES);
    const year = random.between(1920, 2019);
    const made = {
      resourceType: 'Patient',
      id: own,
      meta: { profile: [`${CORE}/us-core-patient`] },
      text: narrative(random.between(5, 60)),
      extension: ['race', 'ethnicity', 'birthsex', 'genderIdentity'].map((name) => ({
        url: `${CORE}/us-core-${name}`,
        extension: [{ url: 'text', valueString: prose(4) }],
      })),
      identifier: ['MR', 'SS', 'DL', 'PPN'].map((code) => ({
        type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code }], text: code },
        system: `urn:oid:2.16.840.1.113883.${random.below(1000)}`,
        value: id(),
      })),
      name: [{ use: 'official', family, given: [prose(1)], prefix: ['Mx.'] }],
      gender: random.oneOf(['female', 'male', 'other', 'unknown']),
      birthDate: `${year}-0${random.between(1, 9)}-1${random.below(10)}`,
      address: [{ line: [prose(2)], city: prose(1), extension: [{ url: `${FHIR}/geolocation`, valueDecimal: -71.1 }] }],
      communication: [{ language: coded('en-US', 'English') }],
    };
    return { made, score: { id: own, name: family, age: 2020 - year } };
  }

  function observation(): { made: object; score: unknown } {
    const own = id();
    const [systolic, diastolic] = [random.between(90, 190), random.between(50, 110)];
    const isAbsent = random.chance(0.1);
    // Some are panels of many values.
    const others = random.chance(0.1) ? random.between(20, 45) : random.below(4);
    const component = [
      ...Array.from({ length: others }, (_, n) => ({
        code: coded(`${1000 + n}-1`, prose(6)),
        valueQuantity: quantity(random.below(10_000) / 100, 'mmol/L'),
      })),
      {
        code: coded('8480-6', 'Systolic Blood Pressure'),
        ...(isAbsent
          ? { dataAbsentReason: coded('unknown', 'Unknown') }
          : { valueQuantity: quantity(systolic, 'mm[Hg]') }),
      },
      { code: coded('8462-4', 'Diastolic Blood Pressure'), valueQuantity: quantity(diastolic, 'mm[Hg]') },
    ];
    const made = {
      resourceType: 'Observation',
      id: own,
      meta: { profile: [`${CORE}/us-core-blood-pressure`], lastUpdated: '2020-02-29T23:59:59.999-05:00' },
      text: narrative(random.between(10, 80)),
      status: 'final',
      category: [coded('vital-signs', 'Vital signs')],
      code: coded('85354-9', 'Blood pressure panel with all children optional'),
      subject: { reference: subject },
      encounter: { reference: `Encounter/${id()}` },
      effectiveDateTime: '2020-02-29T23:59:59-05:00',
      component,
    };
    const pressure = Math.round((systolic + 2 * diastolic) / 3);
    return { made, score: isAbsent ? undefined : { id: own, subject, pressure } };
  }
}

if (import.meta.main)
  await pipeline(function* () {
    for (const { line } of bulkFhir(Number(process.argv[2]))) yield `${line}\n`;
  }, process.stdout);
