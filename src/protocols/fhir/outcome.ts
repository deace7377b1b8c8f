/** Errors as FHIR R4 words them: an OperationOutcome. */
import type { ErrorForm } from '../../http/errors.ts';
import { type InputProblem, ServiceError } from '../../lib/errors.ts';

export const FHIR_JSON = 'application/fhir+json; charset=utf-8';

/** A `ServiceError` that knows which element of the resource is at fault, as FHIRPath. */
export class FhirFault extends ServiceError {
  readonly expression: string;

  constructor(status: number, message: string, expression: string) {
    super(status === 404 ? 'not-found' : 'malformed-request', status, 'Bad Request', message);
    this.expression = expression;
  }
}

/** Codes of http://hl7.org/fhir/issue-type. */
const CODES: Readonly<Record<number, string>> = {
  ...{ 400: 'invalid', 401: 'login', 403: 'forbidden', 404: 'not-found', 405: 'not-supported', 406: 'not-supported' },
  ...{ 408: 'timeout', 409: 'conflict', 412: 'conflict', 413: 'too-long', 415: 'not-supported', 422: 'processing' },
  ...{ 429: 'throttled', 502: 'transient', 503: 'transient', 504: 'timeout' },
};

export const FHIR_ERRORS: ErrorForm = {
  type: FHIR_JSON,
  body: (error) => JSON.stringify(outcomeOf(error)),
};

export function outcomeOf(error: ServiceError): object {
  const { status, message, title, inputs } = error;
  const code = CODES[status] ?? (status >= 500 ? 'exception' : 'invalid');
  const issue = (diagnostics: string, expression?: string): object => ({
    severity: 'error',
    code,
    details: { text: title },
    diagnostics,
    ...(expression !== undefined && { expression: [expression] }),
  });
  if (inputs.length > 0) return outcome(inputs.map((each) => issue(`expected ${each.expected}`, expressionOf(each))));
  return outcome([issue(message, error instanceof FhirFault ? error.expression : undefined)]);
}

const outcome = (issues: readonly object[]): object => ({ resourceType: 'OperationOutcome', issue: issues });

/** Where a place of the input came from. */
function expressionOf({ pointer }: InputProblem): string {
  const [, first = '', ...rest] = pointer.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const name = first.replaceAll("'", "\\'");
  const parts = rest.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.part.where(name='${part}')`));
  return first === '' ? 'Parameters' : `Parameters.parameter.where(name='${name}')${parts.join('')}`;
}
