/** What this service does of FHIR R4. */
import type { Fields } from '../../lib/json.ts';

/** Types of search parameters, by name. */
const KINDS: Readonly<Record<string, string>> = {
  ...{ _id: 'token', url: 'uri', name: 'string', title: 'string', version: 'token', status: 'token' },
};
/** The day on which what is told here changed last. */
const DATE = '2026-11-25';

export const capabilityStatement = (base: string, version: string, searched: readonly string[]): Fields => ({
  resourceType: 'CapabilityStatement',
  status: 'active',
  date: DATE,
  kind: 'instance',
  software: { name: 'KGrid Activator', version },
  implementation: { description: 'Knowledge objects as libraries', url: `${base}/fhir` },
  fhirVersion: '4.0.1',
  format: ['application/fhir+json', 'json'],
  rest: [
    {
      mode: 'server',
      resource: [
        {
          type: 'Library',
          interaction: [{ code: 'read' }, { code: 'search-type' }],
          searchParam: searched.map((name) => ({ name, type: KINDS[name] })),
          operation: [
            {
              name: 'evaluate',
              definition: 'http://hl7.org/fhir/uv/cql/OperationDefinition/cql-library-evaluate',
              documentation: 'Runs an endpoint of the knowledge object. With several, the parameter endpoint names it.',
            },
          ],
        },
      ],
    },
  ],
});
