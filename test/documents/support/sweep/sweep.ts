/** Requests to every path of the service, and to its main errors. */
import { accounts } from './accounts.ts';
import { activation } from './activation.ts';
import { actuator } from './actuator.ts';
import { calls } from './calls.ts';
import { cdsHooks } from './cds-hooks.ts';
import { fhir } from './fhir.ts';
import { listings } from './pages-and-listings.ts';
import { runtimes } from './runtimes.ts';
import { removal, shelf } from './shelf.ts';
import { code } from './steps.ts';
import type { Step } from './steps.ts';

const PAGE = { origin: 'https://elsewhere.example' };

export const sweep = async (): Promise<Step[]> => [
  ...calls(),
  ...accounts,
  ...cdsHooks(`${code.naan}-${code.name}`),
  ...fhir(),
  ...listings(),
  ...actuator(code.id),
  ...activation(),
  ...(await shelf()),
  ...runtimes(),
  ...removal,
];

/** Pages of other sites, for all that changes something. */
export const fromAPage = (steps: readonly Step[]): Step[] =>
  steps.map(([method, path, url, sent]) => [method, path, url, { ...sent, headers: { ...sent?.headers, ...PAGE } }]);
