/** The body of a hook request, parsed once. */
import { bodyNotReadable, malformedRequest } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { escapeForMessage } from '../../lib/text.ts';

export interface HookRequest {
  readonly hook: string;
  readonly hookInstance: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly prefetch: Readonly<Record<string, unknown>>;
  /** Base address of the client's FHIR server, without a slash at its end. */
  readonly fhirServer: string | undefined;
  /** With which to read there. */
  readonly accessToken: string | undefined;
}

/** What the context of the published hooks holds at least. */
const CONTEXTS: Readonly<Record<string, readonly string[]>> = {
  'patient-view': ['userId', 'patientId'],
  'order-select': ['userId', 'patientId', 'selections', 'draftOrders'],
  'order-sign': ['userId', 'patientId', 'draftOrders'],
  'order-dispatch': ['patientId', 'dispatchedOrders', 'performer'],
  'appointment-book': ['userId', 'patientId', 'appointments'],
  'encounter-start': ['userId', 'patientId', 'encounterId'],
  'encounter-discharge': ['userId', 'patientId', 'encounterId'],
};
const UUID = /^(urn:uuid:)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @throws bodyNotReadable; malformedRequest with the name of the field. */
export function parseHookRequest(text: string, hook: string): HookRequest {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw bodyNotReadable('The request body is not JSON', { cause });
  }
  if (!isObject(body))
    throw bodyNotReadable('The request body must be a JSON object with hook, hookInstance and context');
  const { hook: named, hookInstance, context, prefetch = {}, fhirServer, fhirAuthorization } = body;
  if (named !== hook)
    throw malformedRequest(
      `hook must be "${hook}", which this service is for${typeof named === 'string' ? `; came "${escapeForMessage(named.slice(0, 100))}"` : ''}`,
    );
  if (typeof hookInstance !== 'string' || !UUID.test(hookInstance))
    throw malformedRequest('hookInstance must be a UUID that names this call of the hook');
  if (!isObject(context)) throw malformedRequest('context must be an object');
  for (const field of CONTEXTS[hook] ?? [])
    if (context[field] === undefined || context[field] === null || context[field] === '')
      throw malformedRequest(`context.${field} is missing: the hook ${hook} asks for it`);
  if (!isObject(prefetch)) throw malformedRequest('prefetch must be an object');
  for (const [key, value] of Object.entries(prefetch))
    if (value !== null && !isObject(value))
      throw malformedRequest(`prefetch.${escapeForMessage(key.slice(0, 100))} must be a FHIR resource or null`);
  if (
    fhirServer !== undefined &&
    (typeof fhirServer !== 'string' || !/^https?:\/\//.test(fhirServer) || !URL.canParse(fhirServer))
  )
    throw malformedRequest('fhirServer must be the base address of a FHIR server');
  return {
    hook,
    hookInstance,
    context,
    prefetch,
    fhirServer: typeof fhirServer === 'string' ? fhirServer.replace(/\/$/, '') : undefined,
    accessToken: tokenIn(fhirAuthorization),
  };
}

/** @throws malformedRequest. */
function tokenIn(authorization: unknown): string | undefined {
  if (authorization === undefined || authorization === null) return undefined;
  const token = isObject(authorization) ? authorization['access_token'] : undefined;
  const type = isObject(authorization) ? authorization['token_type'] : undefined;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(token) || String(type).toLowerCase() !== 'bearer')
    throw malformedRequest('fhirAuthorization must have an access_token and the token_type Bearer');
  return token;
}
