// Mean arterial pressure, estimated from a cuff: diastolic + (systolic - diastolic) / 3.
// The message of an error reaches the caller as the Detail of the answer.
import { numberBetween } from './limits.ts';
import type { Input } from './limits.ts';

// The function that deployment.yaml names: it gets the parsed input and returns the result.
export function calculate(input: Input) {
  const systolic = numberBetween(input, 'systolic', 30, 300);
  const diastolic = numberBetween(input, 'diastolic', 10, 200);
  if (diastolic >= systolic) throw new Error('diastolic must be below systolic');
  const mean = (systolic + 2 * diastolic) / 3;
  return { meanArterialPressure: Math.round(mean * 10) / 10, unit: 'mmHg' };
}
