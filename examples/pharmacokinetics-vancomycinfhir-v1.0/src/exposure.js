// Reads what the vancomycin model needs from a FHIR R4 Bundle and calls the model, which calls Cockcroft-Gault:
// one request crosses the engines node, python and javascript.
import { invalidInput, latestValue, patientOn, vancomycinOrder } from './bundle.js';

const MODEL = 'pharmacokinetics/vancomycin/1.0/exposure';

export async function exposure(bundle) {
  if (bundle?.resourceType !== 'Bundle') throw invalidInput('the input must be a FHIR Bundle');
  const creatinine = latestValue(bundle, '2160-0', 'mg/dL', 'creatinine');
  const weight = latestValue(bundle, '29463-7', 'kg', 'body weight');
  const inputs = {
    ...patientOn(bundle, creatinine.date),
    weight: weight.value,
    creatinine: creatinine.value,
    ...vancomycinOrder(bundle),
  };
  const result = await global.cxt.getExecutorByID(MODEL).execute(inputs);
  return { inputs, exposure: result };
}
