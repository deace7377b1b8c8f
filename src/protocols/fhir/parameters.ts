/** Parameters of FHIR R4 and the JSON of endpoints, each way. Names are those of "Using CQL with FHIR" 2.0.0. */
import { type Fields, fieldsOf, isObject } from '../../lib/json.ts';
import { FhirFault } from './outcome.ts';

const MOST_PARAMETERS = 10_000;
const MOST_DEPTH = 32;
/** Named where the result is no object. */
const RETURN = 'return';
/** Says which endpoint of a knowledge object is meant. */
export const ENDPOINT = 'endpoint';
const INTEGER = { least: -(2 ** 31), most: 2 ** 31 - 1 };
const IS_EMPTY_LIST = 'http://hl7.org/fhir/StructureDefinition/cqf-isEmptyList';
/** Of a value that is not there. */
const ABSENT = {
  extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }],
};

/** What was sent with an operation. */
export interface SentParameters {
  readonly endpoint: string | undefined;
  readonly input: unknown;
}

/** `schema`: of the input, in the words of JSON Schema; null where nobody knows. @throws FhirFault. */
export function inputOf(resource: unknown, schema: Fields | null): SentParameters {
  if (!isObject(resource) || resource['resourceType'] !== 'Parameters')
    throw new FhirFault(400, 'The body must be a resource of the type Parameters', 'Parameters');
  const list = resource['parameter'] ?? [];
  if (!Array.isArray(list)) throw new FhirFault(400, 'parameter must be a list', 'Parameters.parameter');
  if (list.length > MOST_PARAMETERS)
    throw new FhirFault(400, `there are more than ${MOST_PARAMETERS} parameters`, 'Parameters.parameter');
  const named = list.map((each, i) => ({ at: `Parameters.parameter[${i}]`, fields: each as unknown }));
  const own = named.filter(({ fields }) => fieldsOf(fields)['name'] !== ENDPOINT || takes(schema, ENDPOINT));
  const chosen = named.find(({ fields }) => fieldsOf(fields)['name'] === ENDPOINT && !takes(schema, ENDPOINT));
  const endpoint = chosen && valueIn(chosen.fields, chosen.at, undefined, 0);
  if (chosen !== undefined && typeof endpoint !== 'string')
    throw new FhirFault(400, `${ENDPOINT} must be a valueString`, chosen.at);
  return { endpoint: typeof endpoint === 'string' ? endpoint : undefined, input: objectOf(own, schema, 0) };
}

/** Undefined where nobody knows what the schema takes. */
const propertiesOf = (schema: unknown): Fields | undefined => {
  const { properties } = fieldsOf(schema);
  return isObject(properties) ? properties : undefined;
};
const takes = (schema: unknown, name: string): boolean => Object.hasOwn(propertiesOf(schema) ?? {}, name);
const isList = (schema: unknown): boolean => [fieldsOf(schema)['type']].flat().includes('array');

function objectOf(list: readonly { at: string; fields: unknown }[], schema: unknown, depth: number): unknown {
  if (depth > MOST_DEPTH) throw new FhirFault(400, `parts are nested more than ${MOST_DEPTH} deep`, 'Parameters');
  const properties = propertiesOf(schema);
  const isOpen = properties === undefined || fieldsOf(schema)['additionalProperties'] !== false;
  const groups = new Map<string, { at: string; fields: unknown }[]>();
  for (const each of list) {
    const { name } = fieldsOf(each.fields);
    if (typeof name !== 'string' || name === '') throw new FhirFault(400, 'a parameter has no name', each.at);
    if (properties !== undefined && !Object.hasOwn(properties, name) && (!isOpen || depth === 0))
      throw new FhirFault(
        400,
        `there is no parameter ${name}; there are ${Object.keys(properties).join(', ')}`,
        each.at,
      );
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  const entries = [...groups].map(([name, each]) => {
    const own = properties?.[name];
    const values = (item: unknown): unknown[] => each.map(({ at, fields }) => valueIn(fields, at, item, depth));
    if (isList(own)) return [name, values(fieldsOf(own)['items']).flat()] as const;
    const [, second] = each;
    if (second !== undefined && own !== undefined)
      throw new FhirFault(400, `the parameter ${name} is given more than once`, second.at);
    return [name, second === undefined ? values(own)[0] : values(own)] as const;
  });
  return Object.fromEntries(entries);
}

function valueIn(fields: unknown, at: string, schema: unknown, depth: number): unknown {
  if (!isObject(fields)) throw new FhirFault(400, 'a parameter must be an object', at);
  const values = Object.keys(fields).filter((key) => /^value[A-Z]/.test(key));
  const { resource, part } = fields;
  const given = [...values, ...(resource === undefined ? [] : ['resource']), ...(part === undefined ? [] : ['part'])];
  if (given.length > 1)
    throw new FhirFault(400, `a parameter has one of value, resource and part, not ${given.join(' and ')}`, at);
  if (given.length === 0) return extensionsOf(fields).includes(IS_EMPTY_LIST) ? [] : null;
  if (resource !== undefined) return resource;
  if (part !== undefined) {
    if (!Array.isArray(part)) throw new FhirFault(400, 'part must be a list', `${at}.part`);
    return objectOf(
      part.map((each: unknown, i) => ({ at: `${at}.part[${i}]`, fields: each })),
      schema,
      depth + 1,
    );
  }
  const [key = ''] = values;
  const value = fields[key];
  const types = [fieldsOf(schema)['type']].flat();
  // A quantity where a number is wanted: its unit is for people.
  if (key === 'valueQuantity' && (types.includes('number') || types.includes('integer')))
    return fieldsOf(value)['value'];
  const expected = KINDS[key];
  if (expected !== undefined && typeof value !== expected) throw new FhirFault(400, `${key} must be a ${expected}`, at);
  return value;
}

const KINDS: Readonly<Record<string, string>> = {
  ...{
    valueBoolean: 'boolean',
    valueInteger: 'number',
    valueDecimal: 'number',
    valueString: 'string',
    valueCode: 'string',
  },
  ...{ valueDate: 'string', valueDateTime: 'string', valueTime: 'string', valueUri: 'string', valueInstant: 'string' },
  ...{ valuePositiveInt: 'number', valueUnsignedInt: 'number', valueId: 'string', valueMarkdown: 'string' },
};

const extensionsOf = (fields: Fields): unknown[] =>
  Object.values(fields)
    .flatMap((each) => (isObject(each) ? [each['extension']] : []))
    .flat()
    .map((each) => fieldsOf(each)['url']);

/** A result as Parameters: of an object each field is a parameter, anything else is `return`. */
export const parametersOf = (result: unknown): object => ({
  resourceType: 'Parameters',
  parameter:
    isObject(result) && result['resourceType'] === undefined ? partsOf(result, 0) : parameter(RETURN, result, 0),
});

const partsOf = (fields: Fields, depth: number): object[] =>
  Object.entries(fields)
    // A name of FHIR is never empty.
    .filter(([name]) => name.trim() !== '')
    .flatMap(([name, value]) => parameter(name, value, depth));

function parameter(name: string, value: unknown, depth: number): object[] {
  if (Array.isArray(value)) {
    if (value.length === 0)
      return [{ name, _valueBoolean: { extension: [{ url: IS_EMPTY_LIST, valueBoolean: true }] } }];
    return value.flatMap((each: unknown) =>
      Array.isArray(each) ? [{ name, part: parameter('element', each, depth + 1) }] : parameter(name, each, depth),
    );
  }
  if (value === null) return [{ name, _valueBoolean: ABSENT }];
  if (isObject(value)) {
    if (typeof value['resourceType'] === 'string') return [{ name, resource: value }];
    const part = depth < MOST_DEPTH ? partsOf(value, depth + 1) : [];
    return part.length === 0 ? [{ name, valueString: JSON.stringify(value) }] : [{ name, part }];
  }
  return [{ name, ...primitive(value) }];
}

function primitive(value: unknown): object {
  if (typeof value === 'boolean') return { valueBoolean: value };
  if (typeof value === 'number')
    return Number.isInteger(value) && value >= INTEGER.least && value <= INTEGER.most
      ? { valueInteger: value }
      : { valueDecimal: value };
  // "Strings SHALL NOT be empty."
  return String(value).trim() === '' ? { _valueString: ABSENT } : { valueString: String(value) };
}
