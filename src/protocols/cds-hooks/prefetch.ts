/** The data of a hook request, and what is missing of it. "Absent", null and an OperationOutcome are three cases. */
import { isObject } from '../../lib/json.ts';
import type { HookService } from '../../knowledge-object/descriptors/hooks.ts';
import type { FhirReader } from './fhir-reader.ts';
import type { HookRequest } from './hook-request.ts';

/** `absent`: the client did not send it. `empty`: it says that there is none. `failed`: it could not read it. */
export type Absence = 'absent' | 'empty' | 'failed';

export interface Prefetched {
  /** By key: a resource, or null where the client says that there is none. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Of the keys that the service needs. */
  readonly missing: readonly { readonly key: string; readonly why: Absence }[];
}

/** What the service declares, and nothing else that was sent. `reader`: reads what was not sent, where the operator allows it. */
export async function prefetched(
  service: HookService,
  request: HookRequest,
  reader: FhirReader | undefined,
  signal: AbortSignal,
): Promise<Prefetched> {
  const found = await Promise.all(
    Object.entries(service.prefetch).map(async ([key, template]) => {
      const sent = Object.hasOwn(request.prefetch, key) ? request.prefetch[key] : undefined;
      const read = isUsable(sent) ? sent : await fetched(template, request, reader, signal);
      return { key, value: isUsable(read) ? read : sent };
    }),
  );
  const data: Record<string, unknown> = {};
  const missing: { key: string; why: Absence }[] = [];
  for (const { key, value } of found) {
    const why = absenceOf(value);
    if (why === undefined || why === 'empty') data[key] = value;
    if (why !== undefined && service.needs.includes(key)) missing.push({ key, why });
  }
  return { data, missing };
}

const isUsable = (value: unknown): boolean => value === null || absenceOf(value) === undefined;

function absenceOf(value: unknown): Absence | undefined {
  if (value === undefined) return 'absent';
  if (value === null) return 'empty';
  return isObject(value) && value['resourceType'] === 'OperationOutcome' ? 'failed' : undefined;
}

async function fetched(
  template: string,
  { fhirServer, accessToken, context }: HookRequest,
  reader: FhirReader | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  if (reader === undefined || fhirServer === undefined || !reader.mayRead(fhirServer)) return undefined;
  const query = expand(template, context);
  return query === undefined ? undefined : reader.read(fhirServer, query, accessToken, signal);
}

/** A FHIR id, or a reference. */
const PLAIN = /^([A-Z][A-Za-z]+\/)?[A-Za-z0-9.-]{1,64}$/;
/** `{{userPractitionerId}}` and its like: "the id of the user, where it is of that type". */
const USERS: Readonly<Record<string, string>> = {
  userPractitionerId: 'Practitioner',
  userPractitionerRoleId: 'PractitionerRole',
  userPatientId: 'Patient',
  userRelatedPersonId: 'RelatedPerson',
};

/** A template with the values of the context; undefined where one of them is not there, or is more than a plain text. */
export function expand(template: string, context: HookRequest['context']): string | undefined {
  let isWhole = true;
  const query = template.replaceAll(/\{\{([^{}]*)\}\}/g, (_all, token: string) => {
    const value = valueOf(token.trim(), context);
    if (typeof value === 'string' && PLAIN.test(value)) return value;
    isWhole = false;
    return '';
  });
  return isWhole ? query : undefined;
}

function valueOf(token: string, context: HookRequest['context']): unknown {
  const type = Object.hasOwn(USERS, token) ? USERS[token] : undefined;
  if (type !== undefined) {
    const user = context['userId'];
    return typeof user === 'string' && user.startsWith(`${type}/`) ? user.slice(type.length + 1) : undefined;
  }
  const [root, ...path] = token.split('.');
  if (root !== 'context' || path.length === 0) return undefined;
  return path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), context);
}
