/** Requests of electronic health records. */
import { json, raw } from '../sent.ts';
import { both } from './steps.ts';
import type { Step } from './steps.ts';

const SERVICE = '/cds-services/{id}';
const FEEDBACK = '/cds-services/{id}/feedback';
const REQUEST = { hook: 'patient-view', hookInstance: '4e1c7a3c-8a1b-4b9e-9f3e-2f6f1f0e6b01' };
const CONTEXT = { userId: 'Practitioner/1', patientId: 'p1' };
const ENTRY = { card: 'c', outcome: 'overridden', outcomeTimestamp: '2026-11-25T10:00:00Z' };

/** `id`: of a service whose code fails where it is given nothing. */
export const cdsHooks = (id: string): Step[] => [
  ...both('/cds-services'),
  ['post', SERVICE, `/cds-services/${id}`, json({ ...REQUEST, context: CONTEXT, prefetch: { input: { result: 1 } } })],
  ['post', SERVICE, `/cds-services/${id}`, json({ ...REQUEST, context: CONTEXT })],
  ['post', SERVICE, `/cds-services/${id}`, json({ ...REQUEST, context: CONTEXT, prefetch: { input: {} } })],
  ['post', SERVICE, `/cds-services/${id}`, json(REQUEST)],
  ['post', SERVICE, `/cds-services/${id}`, raw('x', 'text/plain')],
  ['post', SERVICE, '/cds-services/none', json(REQUEST)],
  ...both(FEEDBACK, `/cds-services/${id}/feedback`),
  ['get', FEEDBACK, '/cds-services/none/feedback'],
  ['post', FEEDBACK, '/cds-services/none/feedback', json({ feedback: [ENTRY] })],
  ['post', FEEDBACK, `/cds-services/${id}/feedback`, json({ feedback: [ENTRY] })],
  ['post', FEEDBACK, `/cds-services/${id}/feedback`, json({ feedback: [] })],
  ['post', FEEDBACK, `/cds-services/${id}/feedback`, raw('x', 'text/plain')],
];
